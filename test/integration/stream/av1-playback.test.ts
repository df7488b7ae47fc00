/** The AV1 ladder over HTTP: what is listed, and that every listed segment can be played. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { planAv1 } from '#kinora/media/plan/av1-ladder.js';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { countFrames } from '../../support/media/measure.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;
let rungs: string[];

beforeAll(async () => {
  source = await planFile(await fixture('h264-aac.mp4'));
  rungs = planAv1(source.video).map(({ name }) => name);
  server = await startPlayback({ av1After: 0 });
  asset = await server.addAsset(source);
});
afterAll(() => server?.stop());

const get = (path: string) => fetch(`${server.origin}/${path}`);
const bytesOf = async (path: string): Promise<Buffer> => {
  const response = await get(path);
  expect([path, response.status]).toEqual([path, 200]);
  return Buffer.from(await response.arrayBuffer());
};
/** Attributes and address of each variant. */
const variantsOf = async (query = ''): Promise<string[]> =>
  (await (await get(`${asset.publicId}.m3u8${query}`)).text()).match(/#EXT-X-STREAM-INF:.*\n.*/g)!;

test('the whole ladder follows the one in H.264, which does not change', async () => {
  const [all, h264, av1] = await Promise.all(['', '?codecs=h264', '?codecs=av1'].map(variantsOf));
  expect(h264).toHaveLength(source.video.renditions.length);
  expect(h264!.join()).not.toContain('av01');
  expect(all).toEqual([...h264!, ...av1!]);
  const names = av1!.map((variant) => /\/(av1-[^/]*)\/playlist/.exec(variant)?.[1]);
  expect(new Set(names)).toEqual(new Set(rungs));
  expect(av1!.every((variant) => /CODECS="av01\.0\.\d\dM\.08,mp4a\.40\.2"/.test(variant))).toBe(true);
  expect((await get(`${asset.publicId}.m3u8?codecs=vp9`)).status).toBe(400);
  const manifest = await (await get(`${asset.publicId}.mpd`)).text();
  for (const name of rungs) expect(manifest).toContain(`id="${name}"`);
});

test('each rung has as many frames as H.264', async () => {
  const count = source.video.boundaries.length - 1;
  const frames = async (rendition: string): Promise<number> => {
    const files = ['init.mp4', ...Array.from({ length: count }, (_, number) => `${number}.m4s`)];
    const parts = await Promise.all(
      files.map((file) => bytesOf(`${asset.publicId}/${GENERATION}/${rendition}/${file}`)),
    );
    return countFrames(parts);
  };
  const counted = new Set<number>();
  for (const name of [source.video.renditions[0]!.name, ...rungs]) counted.add(await frames(name));
  expect(counted.size).toBe(1);
});

test('encrypted playback has H.264 alone', async () => {
  const text = await (await get(`${asset.drmId}.m3u8`)).text();
  expect(text).not.toContain('av01');
  expect((await get(`${asset.drmId}/${GENERATION}/${rungs[0]}/init.mp4`)).status).toBeGreaterThanOrEqual(400);
});
