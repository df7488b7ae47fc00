import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodedNames, type FixtureName, fixture } from '../../support/media/fixtures.js';
import { unusual } from '../../support/media/unusual-recipes.js';
import { lowestOnly, playAll } from '../../support/players/play.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, earlyPlaybackOf, settled, type WireAsset } from '../../support/wire/create-asset.js';

/** The download stops here until everything was played. */
const HELD_AT = 1000;

const dataDir = makeDataDir();
let origin: SlowOrigin;
let server: ServerProcess;
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await startServer({ dataDir });
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const create = (url: string): Promise<WireAsset> =>
  createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });
// All renditions are made from the same frames.
const play = (asset: WireAsset) => playAll(server.url, asset.playback_ids![0]!.id, lowestOnly);

/**
 * Nothing tells where their frames are before the whole file is there, or they are transcoded
 * first.
 */
const storedFirst: ReadonlySet<string> = new Set([
  ...['h264-fragmented.mp4', 'mpeg4-fragmented.mp4', 'unseekable-start.mp4', 'unmarked-start.mp4'],
  ...['edit-list.mp4', 'late-frame.mp4', 'truncated.mp4'],
  ...['intra-refresh.mp4', 'one-key-frame.mp4', 'h263-false-key-frames.3gp'],
]);
const derived = [
  ...['truncated.mp4', 'late-frame.mp4', 'unknown-audio-codec.mov', 'h264-amr.3gp', 'h264-amr-wb.3gp'],
  ...['h263-false-key-frames.3gp', 'unseekable-start.mp4', 'unmarked-start.mp4'],
] as const;
/**
 * Of the container, the codecs and the kind of timestamps of another one: they differ in what the
 * frames show.
 */
const alike: ReadonlySet<string> = new Set([
  ...['h264-640x400.mp4', 'hevc-480p.mp4', 'av1-480p.mp4', 'h264-aac-22050.mp4', 'grain.mp4', 'texture.mp4'],
  ...['fps-25.mp4', 'fps-29.97.mp4', 'fps-50.mp4', 'marks-30.mp4', 'marks-vfr.mp4', 'marks-slides.mp4', 'longer.mp4'],
  ...['rotated-180.mp4', 'portrait-90.mp4', 'anamorphic.mp4', 'odd-size-444.mp4', 'hdr-hlg.mp4', 'copy-1080p.mp4'],
  ...['copy-720p.mp4', 'noisy-frames.mp4', 'png-pcm.mov', 'cineform-pcm.mov', 'h264-amr-wb.3gp'],
  // Colors as matrix-ictcp.mp4, which have to be converted.
  ...['matrix-bt709.mp4', 'matrix-ycgco.mp4', 'matrix-bt2020c.mp4', 'matrix-bt2020nc.mp4'],
  ...['matrix-derived.mp4', 'matrix-smpte2085.mp4'],
  // early-play.test.ts plays the last two.
  ...['long.mp4', 'long-index-first.mp4', 'long-index-last.mov'],
]);
const encoded = [...encodedNames, ...(Object.keys(unusual) as (keyof typeof unusual)[])].filter(
  // Of the encrypted one nothing can be played.
  (name) => /\.(mp4|mov|m4a|3gp)$/.test(name) && name !== 'encrypted.mp4',
);
const names: readonly FixtureName[] = [...encoded, ...derived].filter((name) => !alike.has(name));

/** Creates an asset that the test holds, and returns what is known of its way. */
const begin = async (name: FixtureName): Promise<{ asset: WireAsset; way: unknown }> => {
  const asset = await create(origin.add(name, await readFile(await fixture(name)), HELD_AT, { sendsParts: true }));
  let way: unknown;
  await until('its way is known', async () => {
    way = await earlyPlaybackOf(server, asset.id);
    return way !== undefined;
  });
  return { asset, way };
};

const playable = names.filter((name) => !storedFirst.has(name));
/** What was played of each file before it was stored. */
const played = new Map<FixtureName, { asset: WireAsset; files: Record<string, string> }>();

it.concurrent.each(playable)('%s plays early', async (name) => {
  const { asset, way } = await begin(name);
  expect(way).toEqual({ status: 'played' });
  played.set(name, { asset, files: await play(asset) });
  origin.release(name);
  expect(await settled(server, asset.id)).toMatchObject({ status: 'ready' });
  expect(await earlyPlaybackOf(server, asset.id)).toEqual(way);
});

it('the server is started again with an empty cache', async () => {
  expect(await server.stop()).toBe(0);
  await rm(join(dataDir, 'cache'), { recursive: true });
  server = await startServer({ dataDir });
});

// Equal files have equal frames, audio and times. The plan is that of the whole file, and the files
// are made from it again.
it.concurrent.each(playable)('%s is played from the same files as before it was stored', async (name) => {
  const { asset, files } = played.get(name)!;
  expect(await play(asset)).toEqual(files);
});

// Only the check of the whole file finds the damage. Its files are then made from a mezzanine, with
// other boundaries. The frames are not compared: two threads do not always conceal the same damage
// in the same way.
it.concurrent('bit-flips-in-data.mp4 plays early until it is transcoded', async () => {
  const name = 'bit-flips-in-data.mp4';
  const audioOf = async (asset: WireAsset) =>
    Object.entries(await play(asset)).filter(([path]) => path.includes('/audio/'));
  const stored = await create(origin.add(`stored-${name}`, await readFile(await fixture(name))));
  const { asset, way } = await begin(name);
  expect(way).toEqual({ status: 'played' });
  const early = await audioOf(asset);
  origin.release(name);
  expect(await settled(server, asset.id)).toMatchObject({ status: 'ready' });
  expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'ended', reason: 'the video is transcoded first' });
  expect((await settled(server, stored.id)).status).toBe('ready');
  const audio = await audioOf(asset);
  expect(audio.length).toBeGreaterThan(2);
  expect(audio).toEqual(await audioOf(stored));
  expect(audio).not.toEqual(early);
});

it.concurrent.each(names.filter((name) => storedFirst.has(name)))('%s is stored first', async (name) => {
  const { asset, way } = await begin(name);
  expect(way).toMatchObject({ status: 'stored_first' });
  expect((await fetch(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`)).status).toBe(412);
  expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
});
