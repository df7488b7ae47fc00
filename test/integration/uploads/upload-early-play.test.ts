import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, earlyPlaybackOf, settled } from '../../support/wire/create-asset.js';
import { createDrmConfiguration } from '../../support/wire/drm.js';
import { digest, earlyUploads } from '../../support/wire/early-upload.js';
import { eventsOf } from '../../support/wire/events.js';
import {
  askStatus,
  filesOf,
  openRequest,
  sendBytes,
  sendChunk,
  storedIn,
  type WireUpload,
} from '../../support/wire/uploading.js';

const dataDir = makeDataDir();
const blobDir = join(dataDir, 'blobs');
const options = { LOG_LEVEL: 'debug' };
let server: ServerProcess;
let file: Buffer;
/** Where the test stops to send: more than the first segment and less than the last. */
let firstBytes: number;
beforeAll(async () => {
  file = await readFile(await fixture('long-index-first.mp4'));
  firstBytes = Math.floor(file.length * 0.6);
  server = await startServer({ dataDir, options });
});
afterAll(cleanUpServers);

const uploads = earlyUploads(() => server);
const { read, get, untilPlayable, segmentsOf, digestOf } = uploads;
const create = (settings?: object): Promise<WireUpload> => {
  others = partials();
  return uploads.create(settings);
};
const sendRest = (id: string, bytes = file): Promise<void> => uploads.sendRest(id, bytes);
const typesOf = async (id: string): Promise<string[]> => (await eventsOf(server, id)).map(({ type }) => type);

const partials = (): string[] => filesOf(join(blobDir, '.partial'), '~source').map((path) => path.split('~')[1]!);
let others: string[] = [];
/** The asset to come of the last upload that was created, after its first byte. */
const assetToCome = (): string => partials().find((assetId) => !others.includes(assetId))!;

it('plays what has arrived, and plays the same once it is ready', async () => {
  const { id, url } = await create();
  const half = Math.floor(firstBytes / 2);
  expect((await sendChunk(url!, file, 0, half, file.length)).status).toBe(308);
  expect((await sendChunk(url!, file, half, firstBytes, file.length)).status).toBe(308);
  const playbackId = await untilPlayable(id);
  const paths = await segmentsOf(playbackId);
  expect(paths).toHaveLength(7);
  const first = await get(paths[0]!);
  expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'public, max-age=5']);
  const early = digest(new Uint8Array(await first.arrayBuffer()));
  // Its bytes have not been sent.
  const last = await get(paths.at(-1)!);
  expect([last.status, last.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  const failures = () => server.log().flatMap(({ level, msg }) => (msg === 'request failed' ? level : []));
  await until('the failure is logged', () => failures().length > 0);
  expect(failures()).toEqual(['warn']);
  const upload = await read(id);
  expect(upload).toMatchObject({ status: 'waiting', early_playback_ids: [{ id: playbackId, policy: 'public' }] });
  expect(upload.asset_id).toBeUndefined();
  expect(await typesOf(id)).toEqual(['video.upload.created', 'video.upload.playable']);
  const told = (await eventsOf(server, id))[1]!.data;
  expect(told).toMatchObject({ status: 'waiting', early_playback_ids: [{ id: playbackId, policy: 'public' }] });
  expect(told.asset_id).toBeUndefined();

  await sendRest(id);
  const created = await read(id);
  expect(created.status).toBe('asset_created');
  expect(created.early_playback_ids).toBeUndefined();
  // It plays on while the asset is prepared.
  expect((await get(paths[0]!)).status).toBe(200);
  const asset = await settled(server, created.asset_id!);
  expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId, policy: 'public' }] });
  expect(await typesOf(id)).toEqual(['video.upload.created', 'video.upload.playable', 'video.upload.asset_created']);
  expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'played' });
  expect(await segmentsOf(playbackId)).toEqual(paths);
  expect(await digestOf(paths[0]!)).toBe(early);
  const { source } = await storedIn(blobDir, asset.id);
  expect(digest(source!)).toBe(digest(file));
  expect(filesOf(join(blobDir, '.partial'), asset.id)).toEqual([]);
  await playAll(server.url, playbackId);

  // Every segment is the one of an asset that was prepared from the complete file.
  const whole = await create();
  expect((await sendBytes(whole.url!, file)).status).toBe(200);
  const other = await settled(server, (await read(whole.id)).asset_id!);
  const others = await segmentsOf(other.playback_ids![0]!.id);
  expect(await Promise.all(paths.map(digestOf))).toEqual(await Promise.all(others.map(digestOf)));
});

it('plays within a single request that sends the whole file', async () => {
  const { id, url } = await create();
  const sending = openRequest(url!, { 'content-length': file.length });
  await sending.send(file.subarray(0, firstBytes));
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  expect((await get(first!)).status).toBe(200);
  await sending.send(file.subarray(firstBytes));
  sending.request.end();
  expect((await sending.response()).status).toBe(200);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
});

it('needs a token under a signed playback ID', async () => {
  const { id, url } = await create({ playback_policies: ['signed'] });
  await sendChunk(url!, file, 0, firstBytes, file.length);
  await until('the upload plays', async () => (await read(id)).early_playback_ids !== undefined);
  const playbackId = (await read(id)).early_playback_ids![0]!.id;
  expect((await get(`${playbackId}.m3u8`)).status).toBe(403);
});

it('is read by the official SDK as an upload that waits', async () => {
  const mux = new Mux({
    ...{ tokenId: server.token.id, tokenSecret: server.token.secret, baseURL: server.url, maxRetries: 0 },
    ...{ webhookSecret: null },
  });
  const upload = await mux.video.uploads.create({
    cors_origin: '*',
    new_asset_settings: { playback_policies: ['public'] },
  });
  await sendChunk(upload.url!, file, 0, firstBytes, file.length);
  await untilPlayable(upload.id);
  const waiting = await mux.video.uploads.retrieve(upload.id);
  expect([waiting.status, waiting.asset_id]).toEqual(['waiting', undefined]);
  expect((await mux.video.uploads.cancel(upload.id)).status).toBe('cancelled');
});

const WITH_OVERLAY = { inputs: [{}, { url: 'http://127.0.0.1:9/logo.png', overlay_settings: { width: '10%' } }] };
/** The content of test assets is not measured. */
const ONLY_DRM = { playback_policies: [], drm: true, video_quality: 'plus', test: true };
const NO_INDEX =
  'the file is not an MP4 or MOV with an index of all frames at its start, a Matroska, a WebM or an MPEG-TS';

describe('does not play before it is complete', () => {
  const sendMost = async (bytes: Buffer, settings: object = {}): Promise<string> => {
    const { id, url } = await create(settings);
    expect((await sendChunk(url!, bytes, 0, bytes.length - 1000)).status).toBe(308);
    return id;
  };
  it.each([
    ['where the index is at the end', 'long-index-last.mov', {}, NO_INDEX],
    ['where it is fragmented', 'h264-fragmented.mp4', {}, NO_INDEX],
    [
      'where its loudness has to be measured',
      'long-index-first.mp4',
      { normalize_audio: true },
      'normalize_audio measures the loudness of all of the audio',
    ],
    [
      'where its content is measured',
      'long-index-first.mp4',
      { video_quality: 'plus' },
      'quality plus measures the whole file',
    ],
  ] as const)('%s', async (_title, name, settings, reason) => {
    const bytes = await readFile(await fixture(name));
    const id = await sendMost(bytes, settings);
    // What arrives is looked at before the answer; a file that may play has its full size from then
    // on.
    expect((await storedIn(blobDir, assetToCome())).partial).toHaveLength(bytes.length - 1000);
    expect((await read(id)).early_playback_ids).toBeUndefined();
    await sendRest(id, bytes);
    const asset = await settled(server, (await read(id)).asset_id!);
    expect(asset.status).toBe('ready');
    expect(await typesOf(id)).toEqual(['video.upload.created', 'video.upload.asset_created']);
    expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'stored_first', reason });
    const told = server.log().filter(({ msg, upload_id }) => msg === 'upload does not play early' && upload_id === id);
    expect(told).toMatchObject([{ asset_id: asset.id, reason }]);
  });

  it.each<[string, { readonly drm?: boolean; readonly inputs?: object[] }, string]>([
    ['where it has overlays', WITH_OVERLAY, 'overlays are fetched when the upload is complete'],
    [
      'where its only playback ID is of the policy drm',
      ONLY_DRM,
      'the asset has no playback ID other than DRM, whose keys are made when it is ready',
    ],
  ])('%s', async (_title, { drm, ...settings }, reason) => {
    const policies = drm && {
      advanced_playback_policies: [
        { policy: 'drm', drm_configuration_id: await createDrmConfiguration({ dataDir }, ['--key-source', 'local']) },
      ],
    };
    const id = await sendMost(file, { ...settings, ...policies });
    expect((await storedIn(blobDir, assetToCome())).partial).toHaveLength(file.length - 1000);
    expect((await read(id)).early_playback_ids).toBeUndefined();
    const told = server.log().find(({ msg, upload_id }) => /early/.test(String(msg)) && upload_id === id);
    expect(told).toMatchObject({ msg: 'upload does not play early', reason });
    expect((await api(server, 'PUT', `/video/v1/uploads/${id}/cancel`)).status).toBe(200);
  });

  it('where its size is not known', async () => {
    const { id, url } = await create();
    const sending = openRequest(url!, {});
    await sending.send(file);
    sending.request.end();
    expect((await sending.response()).status).toBe(200);
    const { asset_id: assetId } = await read(id);
    const told = { status: 'stored_first', reason: 'the size of the file was not known' };
    expect(await earlyPlaybackOf(server, assetId!)).toEqual(told);
    await settled(server, assetId!);
  });
});

it('leaves nothing when it is cancelled', async () => {
  const { id, url } = await create();
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  expect((await get(first!)).status).toBe(200);
  const assetId = assetToCome();
  expect((await api(server, 'PUT', `/video/v1/uploads/${id}/cancel`)).status).toBe(200);
  expect((await get(`${playbackId}.m3u8`)).status).toBe(404);
  expect((await get(first!)).status).toBe(404);
  expect((await read(id)).early_playback_ids).toBeUndefined();
  await until('its files are gone', () => filesOf(dataDir, assetId).length === 0);
  expect((await sendChunk(url!, file, firstBytes, file.length)).status).toBe(410);
});

it('plays another file under other playback IDs', async () => {
  const { id, url } = await create();
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const playbackId = await untilPlayable(id);
  const other = await readFile(await fixture('h264-aac.mp4'));
  expect((await sendBytes(url!, other)).status).toBe(200);
  expect((await get(`${playbackId}.m3u8`)).status).toBe(404);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', duration: 6 });
  expect(asset.playback_ids![0]!.id).not.toBe(playbackId);
  await playAll(server.url, asset.playback_ids![0]!.id);
});

it('plays another file under other playback IDs after the server was killed', async () => {
  const { id, url } = await create();
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const playbackId = await untilPlayable(id);
  await server.kill();
  server = await startServer({ dataDir, options });
  const other = await readFile(await fixture('h264-aac.mp4'));
  expect((await sendBytes((await read(id)).url!, other)).status).toBe(200);
  expect((await get(`${playbackId}.m3u8`)).status).toBe(404);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', duration: 6 });
  expect(asset.playback_ids![0]!.id).not.toBe(playbackId);
});

it('is in no report of what was delivered before its asset is ready', async () => {
  const seconds = Math.floor(Date.now() / 1000);
  const reported = async (): Promise<string[]> => {
    const query = `timeframe[]=${seconds - 3600}&timeframe[]=${seconds + 3600}`;
    const response = await api(server, 'GET', `/video/v1/delivery-usage?${query}`);
    expect(response.status).toBe(200);
    return ((await response.json()) as { data: { asset_id: string }[] }).data.map(({ asset_id }) => asset_id);
  };
  const whole = await create();
  await sendRest(whole.id);
  const ready = await settled(server, (await read(whole.id)).asset_id!);
  const { id, url } = await create();
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const assetId = assetToCome();
  for (const playbackId of [await untilPlayable(id), ready.playback_ids![0]!.id])
    expect((await get((await segmentsOf(playbackId))[0]!)).status).toBe(200);
  // Both are counted at the same time.
  await until('what was delivered is reported', async () => (await reported()).includes(ready.id));
  expect(await reported()).not.toContain(assetId);
  expect((await api(server, 'PUT', `/video/v1/uploads/${id}/cancel`)).status).toBe(200);
  expect(await reported()).not.toContain(assetId);
});

it('removes what was made when the complete file needs another plan', async () => {
  // The index still fits, so nothing shows it before the end has arrived.
  const damaged = Buffer.from(file);
  damaged.fill(0x55, Math.floor(file.length * 0.85), file.length - 1000);
  const { id, url } = await create();
  await sendChunk(url!, damaged, 0, firstBytes, damaged.length);
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  const early = await digestOf(first!);
  await sendRest(id, damaged);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
  expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'ended', reason: 'the video is transcoded first' });
  const later = await digestOf(first!);
  expect(later).not.toBe(early);
  // Of an asset that was prepared from the complete file. Damaged frames are later, and may decode
  // differently each time.
  const whole = await create({ normalize_audio: true });
  expect((await sendBytes(whole.url!, damaged)).status).toBe(200);
  const other = await settled(server, (await read(whole.id)).asset_id!);
  const [reference] = await segmentsOf(other.playback_ids![0]!.id);
  expect(later).toBe(await digestOf(reference!));
});

it('plays again after the server was killed, under the same playback ID, and continues', async () => {
  const { id, url } = await create();
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const playbackId = await untilPlayable(id);
  await server.kill();
  server = await startServer({ dataDir, options });
  await until('it plays before anything is sent', async () => (await get(`${playbackId}.m3u8`)).status === 200);
  expect((await get((await segmentsOf(playbackId))[0]!)).status).toBe(200);
  expect((await askStatus((await read(id)).url!, file.length)).headers.get('range')).toBe(`bytes=0-${firstBytes - 1}`);
  await sendRest(id);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
  expect(digest((await storedIn(blobDir, asset.id)).source!)).toBe(digest(file));
  expect(await typesOf(id)).toEqual(['video.upload.created', 'video.upload.playable', 'video.upload.asset_created']);
  await playAll(server.url, playbackId);
});

it('continues after a stop of the server', async () => {
  const { id, url } = await create();
  await sendChunk(url!, file, 0, firstBytes, file.length);
  await untilPlayable(id);
  const assetId = assetToCome();
  expect(await server.stop()).toBe(0);
  expect((await storedIn(blobDir, assetId)).partial!.equals(file.subarray(0, firstBytes))).toBe(true);
  server = await startServer({ dataDir, options: { ...options, RANGE_SOURCES: 'false' } });
  await sendRest(id);
  expect((await settled(server, assetId)).status).toBe('ready');
  const plain = await create();
  await sendChunk(plain.url!, file, 0, firstBytes, file.length);
  expect((await storedIn(blobDir, assetToCome())).partial).toHaveLength(firstBytes);
  expect((await read(plain.id)).early_playback_ids).toBeUndefined();
});
