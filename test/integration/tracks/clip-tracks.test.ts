import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { readSourceTruth } from '../../support/media/source-truth.js';
import { playRendition, readMultivariant } from '../../support/players/play-through.js';
import { checkAudio } from '../../support/players/playback-checks.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { withTracks } from '../../support/wire/tracks.js';

const SUBTITLES = `WEBVTT

00:00:01.000 --> 00:00:02.000
before

00:00:04.000 --> 00:00:06.000
across the start

00:00:08.000 --> 00:00:09.500
within

00:00:11.000 --> 00:00:15.000
across the end
`;

let server: Booted;
let origin: Origin;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-clip-tracks-'));
  const text = join(folder, 'text.vtt');
  await writeFile(text, SUBTITLES);
  origin = await serveFiles([await fixture('long.mp4'), await fixture('audio-only.flac'), text]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const create = async (inputs: readonly object[]): Promise<WireAsset> => {
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await withTracks(server, await settled(server, id));
  expect(asset.errors).toBeUndefined();
  return asset;
};
const dub = { type: 'audio', language_code: 'fr' };
const createSource = () =>
  create([
    { url: `${origin.url}/0` },
    { url: `${origin.url}/1`, ...dub },
    {
      url: `${origin.url}/2`,
      type: 'text',
      text_type: 'subtitles',
      language_code: 'en',
      passthrough: 'cms',
      closed_captions: true,
    },
  ]);
const clip = (of: WireAsset, start_time: number, end_time: number, further: readonly object[] = []) =>
  create([{ url: `mux://assets/${of.id}`, start_time, end_time }, ...further]);
const remove = async (path: string): Promise<void> =>
  expect((await api(server, 'DELETE', `/video/v1/assets/${path}`)).status).toBe(204);
const trackOf = (asset: WireAsset, name: string) => asset.tracks!.find((track) => track.name === name)!;
const pidOf = ({ playback_ids }: WireAsset): string => playback_ids![0]!.id;
const readText = async (asset: WireAsset): Promise<string> =>
  (await fetch(`${server.url}/${pidOf(asset)}/text/${trackOf(asset, 'English').id}.vtt`)).text();

/** The dub begins `startSeconds` before the clip. */
const checkDub = async (asset: WireAsset, name: string, startSeconds: number): Promise<void> => {
  const { audioGroup } = await readMultivariant(`${server.url}/${pidOf(asset)}.m3u8`);
  const truth = await readSourceTruth('audio-only.flac');
  const { channels, sampleRate } = truth.audio!;
  const first = Math.round(startSeconds * sampleRate);
  const audio = { sampleRate, channels: channels.map((samples) => samples.subarray(first)), startSeconds: 0 };
  checkAudio(
    await playRendition(audioGroup.find(({ attributes }) => attributes.NAME === name)!),
    { ...truth, audio, recipeZeroSeconds: truth.recipeZeroSeconds + startSeconds },
    { channels: 2 },
  );
};

test('a clip has the tracks of its source, cut like itself', async () => {
  const source = await createSource();
  const asset = await clip(source, 4.5, 13);
  expect(asset.tracks!.map(({ type, status, name, language_code }) => [type, status, name, language_code])).toEqual([
    ['video', undefined, undefined, undefined],
    ['audio', 'ready', 'Default', 'und'],
    ['audio', 'ready', 'French', 'fr'],
    ['text', 'ready', 'English', 'en'],
  ]);
  expect(trackOf(asset, 'English')).toMatchObject({
    closed_captions: true,
    passthrough: 'cms',
    text_source: 'uploaded',
  });
  expect(trackOf(asset, 'French').id).not.toBe(trackOf(source, 'French').id);
  // The file has 12 s: the last second is silent.
  await checkDub(asset, 'French', 4.5);
  expect(await readText(asset)).toBe(`WEBVTT

00:00:00.000 --> 00:00:01.500
across the start

00:00:03.500 --> 00:00:05.000
within

00:00:06.500 --> 00:00:08.500
across the end
`);

  const second = await clip(asset, 1, 5);
  await checkDub(second, 'French', 5.5);
  expect(await readText(second)).toContain('00:00:02.500 --> 00:00:04.000\nwithin');
});

test('a name of the request goes before one of the source', async () => {
  const source = await createSource();
  const asset = await clip(source, 0, 2, [{ url: `${origin.url}/1`, ...dub }]);
  const names = asset.tracks!.filter(({ type }) => type === 'audio').map(({ name }) => name);
  expect(names).toEqual(['Default', 'French', 'French (2)']);
});

test('files stay as long as a clip plays them, and no longer', async () => {
  const source = await createSource();
  const tracks = join(server.dataDir, 'blobs', 'assets', source.id, 'tracks');
  const filesOf = (name: string): string[] => {
    const path = join(tracks, String(trackOf(source, name).id));
    return existsSync(path) ? readdirSync(path) : [];
  };
  const gone = (name: string) =>
    vi.waitFor(() => expect(filesOf(name)).toEqual([]), { timeout: 120_000, interval: 200 });
  const first = await clip(source, 1, 3);
  const second = await clip(source, 2, 6);
  await remove(`${source.id}/tracks/${trackOf(source, 'French').id}`);
  await remove(first.id);
  await checkDub(second, 'French', 2);
  expect(filesOf('French')).not.toEqual([]);
  await remove(`${second.id}/tracks/${trackOf(second, 'French').id}`);
  await gone('French');

  // The text of the source is still its own.
  await remove(second.id);
  expect(await readText(source)).toContain('within');
  await remove(source.id);
  await gone('English');
});
