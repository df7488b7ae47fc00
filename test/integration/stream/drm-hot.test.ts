/** Encrypted segments that are requested repeatedly: encrypted once, and sent from memory. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, type MockInstance, test, vi } from 'vitest';
import { CbcsCipher } from '#kinora/media/mp4/cbcs.js';
import {
  bytesOf,
  type DrmPlayback,
  drmPlayback,
  type PlaybackServer,
  startDrmPlayback,
} from '../../support/players/drm-playback.js';
import type { PreparedAsset } from '../../support/players/playback.js';
import { readSamples } from '../../support/players/shaka-packager.js';
import { until } from '../../support/servers/server-process.js';

const VIEWERS = 20;

let server: PlaybackServer;
let asset: PreparedAsset;
let other: PreparedAsset;
let play: DrmPlayback;
let playOther: DrmPlayback;
/** Once for each slice. */
let encrypt: MockInstance<CbcsCipher['encryptPattern']>;

beforeAll(async () => {
  const started = await startDrmPlayback({ hotBytes: 64 * 2 ** 20 });
  ({ server, asset, other, play } = started);
  playOther = drmPlayback(server.origin, started.key, other);
});
afterAll(() => server?.stop());
beforeEach(() => {
  encrypt = vi.spyOn(CbcsCipher.prototype, 'encryptPattern');
});
afterEach(() => vi.restoreAllMocks());

const load = async (path: string): Promise<Buffer> => bytesOf(await play.get(path));
/** Loads a segment and counts the slices that were encrypted for it. */
const counted = async (path: string): Promise<{ readonly bytes: Buffer; readonly slices: number }> => {
  encrypt.mockClear();
  return { bytes: await load(path), slices: encrypt.mock.calls.length };
};
/** The copied rendition: it costs no encoding. */
const segmentOf = async (of: DrmPlayback, number: number) => (await of.drmFiles('720p'))[1 + number]!;

test('many viewers get the bytes that are encrypted while they are sent, and one encryption', async () => {
  const path = await segmentOf(playOther, 0);
  const sent = await counted(path);
  expect(sent.slices).toBeGreaterThan(10);
  for (const slices of [sent.slices, 0]) {
    encrypt.mockClear();
    const bodies = await Promise.all(Array.from({ length: VIEWERS }, () => load(path)));
    expect(bodies.filter((body) => body.equals(sent.bytes))).toHaveLength(VIEWERS);
    expect(encrypt.mock.calls).toHaveLength(slices);
  }
  const { bytes } = sent;
  let rangeBytes = 0;
  for (const [start, end] of [
    [0, 0],
    [100, 90_000],
    [bytes.length - 1, bytes.length - 1],
  ] as const) {
    const response = await play.get(path, { range: `bytes=${start}-${end}` });
    expect([response.status, (await bytesOf(response)).equals(bytes.subarray(start, end + 1))]).toEqual([206, true]);
    rangeBytes += end + 1 - start;
  }
  const { headers } = await play.get(path, {}, 'HEAD');
  expect(headers.get('content-length')).toBe(String(bytes.length));
  expect((await play.get(path, { 'if-none-match': headers.get('etag')! })).status).toBe(304);
  expect(encrypt.mock.calls).toHaveLength(0);

  const delivered = async (): Promise<number> => {
    const { queryable } = server.database;
    const rows = await queryable
      .selectFrom('delivery_usage')
      .selectAll()
      .where('asset_id', '=', other.assetId)
      .execute();
    return rows.reduce((sum, { delivered_bytes: each }) => sum + Number(each), 0);
  };
  const expected = (1 + 2 * VIEWERS) * bytes.length + rangeBytes;
  await until('the deliveries are written', async () => (await delivered()) >= expected);
  expect(await delivered()).toBe(expected);
});

test('each configuration has copies of its own, even with the same key ID', async () => {
  const path = await segmentOf(play, 0);
  const clear = readSamples(await load((await play.openFiles('720p'))[1]!));
  const hex = (digit: string) => digit.repeat(32);
  const idWith = (key: string) =>
    server.addDrmId(asset.assetId, 'static', {
      keys: { video: { kid: hex('1'), key, iv: hex('2') }, audio: { kid: hex('3'), key } },
      ...{ clearKey: true, licenses: {}, allowPrivate: false },
    });
  const ids = [await idWith(hex('a')), await idWith(hex('b'))];
  const paths = [path];
  for (const drmId of ids) {
    const { get, token, children, filesOf } = play;
    const master = await children(`/${drmId}.m3u8?token=${token('v', {}, drmId)}`);
    paths.push((await filesOf(master.get('720p')!))[1]!);
    expect((await get(paths.at(-1)!)).status).toBe(200);
  }
  const first = await Promise.all(paths.map(load));
  const hot = [];
  for (const each of paths) hot.push((await load(each)) && (await counted(each)));
  expect(hot.map(({ slices }) => slices)).toEqual([0, 0, 0]);
  expect(hot.map(({ bytes }, index) => bytes.equals(first[index]!))).toEqual([true, true, true]);
  const data = [clear, ...first.map((bytes) => readSamples(bytes))].map((samples) => samples.data.toString('base64'));
  expect(new Set(data).size).toBe(4);
});

test('a copy leaves with its file: when it is evicted, and when the asset is deleted', async () => {
  const path = await segmentOf(play, 1);
  const sent = await counted(path);
  const keep = async () => {
    await load(path);
    expect((await counted(path)).slices).toBe(0);
  };
  await keep();
  await server.store.removeRendition(asset.assetId, '720p');
  const again = await counted(path);
  expect([again.slices, again.bytes.equals(sent.bytes)]).toEqual([sent.slices, true]);
  await keep();
  const { status } = await server.call('DELETE', `/video/v1/assets/${asset.assetId}`);
  expect(status).toBe(204);
  server.playables.forget(asset.drmId);
  expect((await play.get(path)).status).toBe(404);
});
