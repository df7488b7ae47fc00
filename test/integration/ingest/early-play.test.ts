import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { withLyingCue } from '../../support/media/lying-cues.js';
import { playAll } from '../../support/players/play.js';
import { startOrigin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { createAsset, earlyPlaybackOf, getAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';

/** The origin holds every download here until the test lets it go on. */
const HELD_AT = 300_000;
const PARTS = { sendsParts: true };

let origin: SlowOrigin;
let server: ServerProcess;
const dataDir = makeDataDir();
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await startServer({ dataDir, options: { LOG_LEVEL: 'debug' } });
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const create = (url: string, fields: object = {}): Promise<WireAsset> =>
  createAsset(server, { inputs: [{ url }], playback_policies: ['public'], ...fields });
const playbackIdOf = (asset: WireAsset): string => asset.playback_ids![0]!.id;
const get = (path: string): Promise<Response> => fetch(`${server.url}/${path}`);
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const STATUSES = new Map([
  ['asset plays early', 'played'],
  ['asset does not play early', 'stored_first'],
  ['early playback ended', 'ended'],
]);

/** What the log says about early playback; `input-info` says the last of it. */
const wayOf = async (asset: WireAsset): Promise<unknown[][]> => {
  const way = server.log().filter(({ asset_id, msg }) => asset_id === asset.id && STATUSES.has(String(msg)));
  const { msg, reason } = way.at(-1)!;
  const told = { status: STATUSES.get(String(msg)), ...(reason !== undefined && { reason }) };
  expect(await earlyPlaybackOf(server, asset.id)).toEqual(told);
  return way.map(({ msg, reason }) => (reason === undefined ? [msg] : [msg, reason]));
};

const untilPlayable = (asset: WireAsset): Promise<void> =>
  until('the asset plays', async () => (await get(`${playbackIdOf(asset)}.m3u8`)).status === 200);

/** Paths of the segments of the first rendition, or of the audio. */
const segmentsOf = async (asset: WireAsset, stream: 'video' | 'audio' = 'video'): Promise<string[]> => {
  const id = playbackIdOf(asset);
  const playlists = await (await get(`${id}.m3u8`)).text();
  const line = { video: /^[^#].*\/playlist\.m3u8.*$/m, audio: /(?<=URI=")[^"]*\/audio\/playlist\.m3u8[^"]*/ }[stream];
  const listed = line.exec(playlists)![0];
  const playlist = await (await get(listed)).text();
  const base = listed.slice(0, listed.lastIndexOf('/'));
  return playlist
    .split('\n')
    .filter((line) => line.endsWith('.m4s'))
    .map((line) => `${base}/${line}`);
};
const digestsOf = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map(async (path) => digest(new Uint8Array(await (await get(path)).arrayBuffer()))));

describe.each(['long-index-first.mp4', 'long-index-last.mov', 'long-h264-aac.mkv', 'long-vp9-opus.webm'] as const)(
  '%s at an origin that sends parts',
  (name) => {
    it('plays from any place while it is being stored, and plays the same once it is ready', async () => {
      const bytes = await readFile(await fixture(name));
      const asset = await create(origin.add(name, bytes, HELD_AT, PARTS));
      await untilPlayable(asset);
      const paths = await segmentsOf(asset);
      expect(paths).toHaveLength(7);
      // From the end, so that nothing was read before.
      const early = (await digestsOf(paths.toReversed())).toReversed();
      const audioPaths = await segmentsOf(asset, 'audio');
      const earlyAudio = await digestsOf(audioPaths);
      expect((await getAsset(server, asset.id)).status).toBe('preparing');
      const thumbnail = await get(`${playbackIdOf(asset)}/thumbnail.jpg?time=11`);
      expect([thumbnail.status, thumbnail.headers.get('cache-control')]).toEqual([200, 'public, max-age=5']);
      expect((await get(paths[0]!)).headers.get('cache-control')).toBe('public, max-age=5');
      // Its frames are all over the source, and files are made of assets that are ready.
      expect((await get(`${playbackIdOf(asset)}/storyboard.jpg`)).status).toBe(412);
      expect((await get(`${playbackIdOf(asset)}/highest.mp4`)).status).toBe(412);
      const lists = [`${playbackIdOf(asset)}.mpd`, `${playbackIdOf(asset)}.m3u8?roku_trick_play=true`];
      const namePreviews = () =>
        Promise.all(lists.map(async (path) => /IMAGE-STREAM|"image"/.test(await (await get(path)).text())));
      expect(await namePreviews()).toEqual([false, false]);
      origin.release(name);
      expect((await settled(server, asset.id)).status).toBe('ready');
      expect(await wayOf(asset)).toEqual([['asset plays early']]);
      expect(await segmentsOf(asset)).toEqual(paths);
      expect(await digestsOf(paths)).toEqual(early);
      expect(await segmentsOf(asset, 'audio')).toEqual(audioPaths);
      expect(await digestsOf(audioPaths)).toEqual(earlyAudio);
      // The same file, stored first.
      const plain = await settled(server, (await create(origin.add(`plain-${name}`, bytes))).id);
      expect(await digestsOf(await segmentsOf(plain))).toEqual(early);
      expect(await digestsOf(await segmentsOf(plain, 'audio'))).toEqual(earlyAudio);
      await until('it has previews', async () => (await namePreviews()).every(Boolean));
      await until(
        'caches may keep it',
        async () => (await get(paths[0]!)).headers.get('cache-control') === 'public, max-age=31536000, immutable',
      );
      expect(digest(await readFile(join(dataDir, 'blobs', 'assets', asset.id, 'source')))).toBe(digest(bytes));
      await playAll(server.url, playbackIdOf(asset));
    });
  },
);

it('a cue that points to another cluster never makes other segments', async () => {
  const file = await fixture('long-h264-aac.mkv');
  const lying = await withLyingCue(await readFile(file), 6, 'position', (position) => position - 300_000);
  const plain = await settled(server, (await create(origin.add('plain-lying.mkv', lying))).id);
  const reference = await digestsOf(await segmentsOf(plain));
  const asset = await create(origin.add('lying.mkv', lying, HELD_AT, PARTS));
  await untilPlayable(asset);
  const paths = await segmentsOf(asset);
  const statuses = await Promise.all(paths.map(async (path) => (await get(path)).status));
  const early = await digestsOf(paths);
  for (const [segment, status] of statuses.entries()) {
    if (status === 200) expect(early[segment]).toBe(reference[segment]);
    else expect(status).toBe(503);
  }
  origin.release('lying.mkv');
  expect((await settled(server, asset.id)).status).toBe('ready');
  expect(await digestsOf(await segmentsOf(asset))).toEqual(reference);
});

it('fetches little more than what is watched', async () => {
  const bytes = await readFile(await fixture('long-index-last.mov'));
  const asset = await create(origin.add('little.mov', bytes, HELD_AT, PARTS));
  await untilPlayable(asset);
  const fetched = origin.partsOf('little.mov').reduce((sum, { start, end }) => sum + end - start, 0);
  expect(fetched).toBeLessThan(bytes.length * 0.8);
  origin.release('little.mov');
  await settled(server, asset.id);
});

describe('an asset is not playable before it is ready', () => {
  it.each([
    ['where the origin sends no parts', {}, { sendsParts: false }, 'the origin does not send Accept-Ranges: bytes'],
    [
      'where its loudness has to be measured',
      { normalize_audio: true },
      PARTS,
      'normalize_audio measures the loudness of all of the audio',
    ],
  ])('%s', async (title, fields, options, reason) => {
    const name = `${title.length}.mp4`;
    const bytes = await readFile(await fixture('h264-aac.mp4'));
    const asset = await create(origin.add(name, bytes, HELD_AT / 10, options), fields);
    await until('the download has begun', () => origin.requestsOf(name).length > 0);
    expect((await get(`${playbackIdOf(asset)}.m3u8`)).status).toBe(412);
    origin.release(name);
    // Viewers who ask all the time keep the answer of a moment ago in memory.
    let last = 412;
    const asking = (async () => {
      while (last === 412) {
        await delay(20);
        last = (await get(`${playbackIdOf(asset)}.m3u8`)).status;
      }
    })();
    expect((await settled(server, asset.id)).status).toBe('ready');
    expect((await get(`${playbackIdOf(asset)}.m3u8`)).status).toBe(200);
    await asking;
    expect(last).toBe(200);
    expect(origin.partsOf(name)).toEqual([]);
    expect(await wayOf(asset)).toEqual([['asset does not play early', reason]]);
  });

  it('where it is fragmented, so that nothing tells where its frames are', async () => {
    const asset = await create(
      origin.add('fragmented.mp4', await readFile(await fixture('h264-fragmented.mp4')), 1000, PARTS),
    );
    await until('parts do not help', () =>
      server.log().some(({ asset_id, msg }) => asset_id === asset.id && msg === 'source not readable by ranges'),
    );
    expect((await get(`${playbackIdOf(asset)}.m3u8`)).status).toBe(412);
    origin.release('fragmented.mp4');
    expect((await settled(server, asset.id)).status).toBe('ready');
    const reason = 'the file cannot be read in parts, for example because it is fragmented';
    expect(await wayOf(asset)).toEqual([['asset does not play early', reason]]);
  });

  it.each([
    ['the origin does not send a strong validator', 'W/"weak"', true],
    ['the origin does not send the size', '"strong"', false],
  ])('where %s', async (reason, etag, sendsSize) => {
    const bytes = await readFile(await fixture('h264-aac.mp4'));
    const sent = { etag, 'accept-ranges': 'bytes', ...(sendsSize && { 'content-length': bytes.length }) };
    const other = await startOrigin((_request, response) => void response.writeHead(200, sent).end(bytes));
    const asset = await create(`${other.url}/video.mp4`);
    expect((await settled(server, asset.id)).status).toBe('ready');
    await other.stop();
    expect(await wayOf(asset)).toEqual([['asset does not play early', reason]]);
  });

  it.each([
    ['h264-aac.ts', 'the file is not an MP4, MOV, Matroska or WebM'],
    ['without-cues.mkv', 'Matroska: it has no cues'],
    ['truncated.mkv', 'Matroska: its list of elements points to something else'],
    ['vfr.mkv', 'Matroska: frames are missing, or displayed before the key frame that they follow'],
    ['open-gop-hevc.mkv', 'Matroska: frames are missing, or displayed before the key frame that they follow'],
    ['hevc-ac3.mkv', 'Matroska: the segments depend on the sizes or times of all frames'],
  ] as const)('where the parts of %s do not tell where its frames are', async (name, reason) => {
    const asset = await create(origin.add(name, await readFile(await fixture(name)), 0, PARTS));
    expect((await settled(server, asset.id)).status).toBe('ready');
    expect(await wayOf(asset)).toEqual([['asset does not play early', reason]]);
  });
});

it('another version at the origin ends early play, and only one version is ever played afterwards', async () => {
  const first = await readFile(await fixture('long-index-first.mp4'));
  const second = await readFile(await fixture('h264-aac.mp4'));
  const asset = await create(origin.add('replaced.mp4', first, HELD_AT, PARTS));
  await untilPlayable(asset);
  const paths = await segmentsOf(asset);
  origin.replace('replaced.mp4', second);
  await get(paths.at(-1)!);
  await until('it does not play any more', async () => (await get(`${playbackIdOf(asset)}.m3u8`)).status === 412);
  origin.cut('replaced.mp4');
  const ready = await settled(server, asset.id);
  expect(ready).toMatchObject({ status: 'ready', duration: 6 });
  const reason = 'the origin answered a range request with another file or without the range';
  expect(await wayOf(asset)).toEqual([['asset plays early'], ['early playback ended', reason]]);
  await untilPlayable(asset);
  expect(await segmentsOf(asset)).toHaveLength(3);
  expect(digest(await readFile(join(dataDir, 'blobs', 'assets', asset.id, 'source')))).toBe(digest(second));
  await playAll(server.url, playbackIdOf(ready));
});

it('a killed server plays it again after its start and ends with the whole file', async () => {
  const bytes = await readFile(await fixture('long-index-first.mp4'));
  const asset = await create(origin.add('killed.mp4', bytes, HELD_AT, PARTS));
  await untilPlayable(asset);
  await digestsOf(await segmentsOf(asset));
  await server.kill();
  server = await startServer({ dataDir, options: { LOG_LEVEL: 'debug' } });
  await untilPlayable(asset);
  origin.release('killed.mp4');
  const ready = await settled(server, asset.id);
  expect(ready.status).toBe('ready');
  expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'played' });
  expect(digest(await readFile(join(dataDir, 'blobs', 'assets', asset.id, 'source')))).toBe(digest(bytes));
  await playAll(server.url, playbackIdOf(ready));
});

it('nothing plays early when KINORA_RANGE_SOURCES is false, and what played before the last start is known', async () => {
  const bytes = await readFile(await fixture('long-index-first.mp4'));
  const before = await create(origin.add('before.mp4', bytes, 0, PARTS));
  await settled(server, before.id);
  expect(await server.stop()).toBe(0);
  server = await startServer({ dataDir, options: { RANGE_SOURCES: 'false' } });
  expect(await earlyPlaybackOf(server, before.id)).toEqual({ status: 'played' });
  const asset = await create(origin.add('off.mp4', bytes, HELD_AT, PARTS));
  await until('it has begun', () => origin.requestsOf('off.mp4').length > 0);
  expect((await get(`${playbackIdOf(asset)}.m3u8`)).status).toBe(412);
  origin.release('off.mp4');
  expect((await settled(server, asset.id)).status).toBe('ready');
  expect(origin.partsOf('off.mp4')).toEqual([]);
  expect(await wayOf(asset)).toEqual([['asset does not play early', 'KINORA_RANGE_SOURCES is false']]);
});
