import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeSourceIndex } from '#kinora/media/source/source-index-codec.js';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { type FixtureName, fixture } from '../../support/media/fixtures.js';
import { fetchBytes, mediaPlaylists, playAll, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { filesBelow, until } from '../../support/servers/server-process.js';
import { type StrictS3Proxy, startStrictS3Proxy } from '../../support/servers/strict-s3-proxy.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import {
  api,
  createAsset,
  earlyPlaybackOf,
  getAsset,
  serveFiles,
  settled,
  type WireAsset,
} from '../../support/wire/create-asset.js';
import { earlyUploads } from '../../support/wire/early-upload.js';
import { filesOf, withFiles } from '../../support/wire/static-renditions.js';
import { sendChunk } from '../../support/wire/uploading.js';

/** Read by ranges, and as a whole: a fragmented file, and one whose recordings are joined. */
const BY_RANGES = ['long-index-first.mp4', 'long-index-last.mov', 'long-h264-aac.mkv', 'one-key-frame.mp4'] as const;
const LONG = BY_RANGES.slice(0, 3);
const AS_A_WHOLE = ['h264-fragmented.mp4', 'ts-concatenated.ts'] as const;
const SOURCES: readonly FixtureName[] = [...BY_RANGES, ...AS_A_WHOLE];

describe.runIf(swiftPath)('the product with blobs in S3', () => {
  let swift: Swift;
  let proxy: StrictS3Proxy;
  let origin: Origin;
  let server: Booted;
  let reference: Booted;
  let dataDir: string;
  let objects: ObjectClient;
  let options: Record<string, string>;
  const token = { id: '11111111-2222-4333-8444-555555555555', secret: 'secret-of-the-test' };

  beforeAll(async () => {
    swift = await startSwift();
    proxy = await startStrictS3Proxy(swift.url);
    await makeBucket(swift.settings('product'));
    objects = await ObjectClient.open(swift.settings('product'));
    const paths: string[] = [];
    for (const name of SOURCES) paths.push(await fixture(name));
    origin = await serveFiles(paths);
    dataDir = await makeTestDataDir();
    options = {
      BLOBS: 's3://product/kinora',
      S3_ENDPOINT: proxy.url,
      S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
    };
    server = await boot({ dataDir, token, options });
    reference = await boot({ token });
  });
  afterAll(async () => {
    await Promise.all([server?.stop(), reference?.stop()]);
    objects?.close();
    await origin?.stop();
    await proxy?.stop();
    await swift?.close();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  });

  const idOf = (asset: WireAsset): string => asset.playback_ids![0]!.id;
  const create = (on: Booted, name: FixtureName, fields: object = {}): Promise<WireAsset> =>
    createAsset(on, {
      inputs: [{ url: `${origin.url}/${SOURCES.indexOf(name)}` }],
      playback_policies: ['public'],
      ...fields,
    });
  /** Starts again with nothing that could be fetched. */
  const startCold = async (): Promise<void> => {
    await server.stop();
    await rm(join(dataDir, 'cache'), { recursive: true });
    server = await boot({ dataDir, token, options });
  };
  const keysOf = async (asset: WireAsset): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of objects.list(`assets/${asset.id}/`)) keys.push(key);
    return keys;
  };
  const playPlain = async (on: Booted, asset: WireAsset): Promise<string[]> =>
    Object.values(await playAll(on.url, idOf(asset)));
  const imageOf = async (on: Booted, asset: WireAsset): Promise<string> =>
    createHash('sha256')
      .update(await fetchBytes(`${on.url}/${idOf(asset)}/thumbnail.png?time=1`))
      .digest('hex');

  /** Of each source: the asset with its blobs in S3, and the one on a disk. */
  const assets = new Map<FixtureName, readonly [WireAsset, WireAsset]>();

  it.each(SOURCES)('stores %s in S3', async (name) => {
    const [made, expected] = await Promise.all([create(server, name), create(reference, name)]);
    for (const [on, asset] of [
      [server, made],
      [reference, expected],
    ] as const)
      expect((await settled(on, asset.id)).status).toBe('ready');
    expect(await keysOf(made)).toContain(`assets/${made.id}/source`);
    expect(filesBelow(join(dataDir, 'blobs', '.partial'))).toEqual([]);
    assets.set(name, [made, expected]);
  });

  describe('after a start, for an image', () => {
    beforeAll(startCold);

    it.each(LONG)('fetches only a part of %s', async (name) => {
      const [asset] = assets.get(name)!;
      const { length: sizeBytes } = await readFile(await fixture(name));
      const before = proxy.bytesOf(asset.id);
      await fetchBytes(`${server.url}/${idOf(asset)}/thumbnail.png?time=13`);
      const fetched = proxy.bytesOf(asset.id) - before;
      expect(fetched).toBeGreaterThan(sizeBytes / 24);
      expect(fetched).toBeLessThan(sizeBytes / 3);
    });
  });

  describe('after a start, for one segment', () => {
    beforeAll(startCold);

    it.each([
      ['long-index-first.mp4', 2],
      ['long-index-last.mov', 3],
      ['long-h264-aac.mkv', 3],
    ] as const)('asks for what opens %s and for what the segment is made from: %i requests', async (name, count) => {
      const [asset] = assets.get(name)!;
      const key = `assets/${asset.id}/source`;
      const playlists = await mediaPlaylists(server.url, idOf(asset));
      const [, ...segments] = await segmentsOf(playlists.find((url) => !url.includes('/audio/'))!);
      const before = proxy.sizesOf(key).length;
      await fetchBytes(segments[3]!);
      // Those of the segment; what is made ahead comes later.
      const sizes = proxy.sizesOf(key).slice(before, before + count);
      expect(sizes).toHaveLength(count);
      expect(sizes[0]).toBe(512 * 1024);
      // The segment is 4 s long, between key frames.
      const index = await objects.open(`assets/${asset.id}/index.bin`, { start: 0 });
      const { pts, position, size, lastDuration } = decodeSourceIndex(await buffer(index!.chunks)).video!;
      const ticks = (Math.max(...pts) + lastDuration) / 24;
      const inside = [...pts.keys()].filter((at) => pts[at]! >= 10 * ticks && pts[at]! < 14 * ticks);
      const spannedBytes =
        Math.max(...inside.map((at) => position[at]! + size[at]!)) - Math.min(...inside.map((at) => position[at]!));
      expect(sizes.at(-1)! / spannedBytes).toBeLessThan(1.5);
    });
  });

  describe('after another start', () => {
    beforeAll(startCold);

    it.each(SOURCES)('plays %s from its ranges as from a disk', async (name) => {
      const [made, expected] = assets.get(name)!;
      const { length: sizeBytes } = await readFile(await fixture(name));
      const before = proxy.bytesOf(made.id);
      const played = await playPlain(server, made);
      const fetched = proxy.bytesOf(made.id) - before;
      expect(played).toEqual(await playPlain(reference, expected));
      // Every byte at most once.
      if (LONG.some((long) => long === name)) expect(fetched / sizeBytes).toBeLessThan(1.1);
      expect(await imageOf(server, made)).toBe(await imageOf(reference, expected));
    });
  });

  it('makes and sends static renditions and masters, whole and in ranges', async () => {
    const fields = { static_renditions: [{ resolution: 'highest' }], master_access: 'temporary' };
    const { id } = await create(server, 'long-index-first.mp4', fields);
    const asset = await withFiles(server, id);
    const { name, filesize } = filesOf(asset)[0]!;
    let master: { status: string; url?: string } | undefined;
    await until('the master is made', async () => {
      master = (await getAsset(server, id)).master as typeof master;
      return master?.status === 'ready';
    });
    await startCold();
    const fileUrl = `${server.url}/${idOf(asset)}/${name}`;
    const masterUrl = `${server.url}${new URL(master!.url!).pathname}${new URL(master!.url!).search}`;
    for (const url of [fileUrl, masterUrl]) {
      const whole = await fetchBytes(url);
      if (url === fileUrl) expect(whole.length).toBe(Number(filesize));
      const response = await fetch(url, { headers: { range: 'bytes=1000-200999' } });
      expect(response.status).toBe(206);
      expect(Buffer.from(await response.arrayBuffer()).equals(whole.subarray(1000, 201_000))).toBe(true);
    }
    // Nothing was copied to be sent.
    expect(filesBelow(join(dataDir, 'blobs', '.copies'))).toEqual([]);
  });

  it('stores an upload, and removes the objects of its asset when it is deleted', async () => {
    const bytes = await readFile(await fixture('h264-fragmented.mp4'));
    const response = await api(server, 'POST', '/video/v1/uploads', {
      new_asset_settings: { playback_policies: ['public'] },
    });
    const { data: upload } = (await response.json()) as { data: { id: string; url: string } };
    const sent = await fetch(upload.url, { method: 'PUT', body: new Uint8Array(bytes) });
    expect(sent.status).toBe(200);
    let assetId: string | undefined;
    await until('the upload is an asset', async () => {
      const found = await api(server, 'GET', `/video/v1/uploads/${upload.id}`);
      assetId = ((await found.json()) as { data: { asset_id?: string } }).data.asset_id;
      return assetId;
    });
    const asset = await settled(server, assetId!);
    expect(asset.status).toBe('ready');
    expect((await objects.stat(`assets/${asset.id}/source`))?.sizeBytes).toBe(bytes.length);
    expect((await keysOf(asset)).length).toBeGreaterThan(1);
    expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
    await until('the objects are gone', async () => (await keysOf(asset)).length === 0);
  });

  it('plays an upload before it is complete, also after a start, and never reads the file back', async () => {
    const bytes = await readFile(await fixture('long-index-first.mp4'));
    const uploads = earlyUploads(() => server);
    const { id, url } = await uploads.create();
    const [third, most] = [Math.floor(bytes.length * 0.3), Math.floor(bytes.length * 0.6)];
    const tailsBefore = proxy.bytesOf('/source-tails/');
    expect((await sendChunk(url!, bytes, 0, third)).status).toBe(308);
    expect((await sendChunk(url!, bytes, third, most)).status).toBe(308);
    const playbackId = await uploads.untilPlayable(id);
    const [first] = await uploads.segmentsOf(playbackId);
    const early = await uploads.digestOf(first!);
    // Requests continue with the file of the request before.
    expect(proxy.bytesOf('/source-tails/') - tailsBefore).toBe(0);

    await server.stop();
    server = await boot({ dataDir, token, options });
    expect(await uploads.untilPlayable(id)).toBe(playbackId);
    expect(await uploads.digestOf(first!)).toBe(early);
    expect(proxy.bytesOf('/source-tails/') - tailsBefore).toBe(most);
    await uploads.sendRest(id, bytes);
    const asset = await settled(server, (await uploads.read(id)).asset_id!);
    expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
    expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'played' });
    expect(await uploads.digestOf(first!)).toBe(early);
    const gets = (blob: string) => proxy.sizesOf(`assets/${asset.id}/${blob}`).length;
    expect(gets('source')).toBe(gets('source-tails/'));
    expect((await keysOf(asset)).filter((key) => key.includes('-tails/'))).toEqual([]);
    expect(await objects.listParts(`assets/${asset.id}/`)).toEqual([]);
  });

  it('plays on from the cache while S3 is away, answers 503 for the rest, and then plays it', async () => {
    const asset = await create(server, 'long-index-first.mp4');
    await settled(server, asset.id);
    const [playlist] = await mediaPlaylists(server.url, idOf(asset));
    const segments = await segmentsOf(playlist!);
    const cached = await fetchBytes(segments[1]!);
    await server.stop();
    server = await boot({ dataDir, token, options });
    const here = (url: string): string => `${server.url}${new URL(url).pathname}`;
    const bytes = await readFile(await fixture('h264-fragmented.mp4'));
    const created = await api(server, 'POST', '/video/v1/uploads', { new_asset_settings: {} });
    const { data: upload } = (await created.json()) as { data: { url: string } };
    let imported = '';
    proxy.isAway = true;
    try {
      expect((await fetchBytes(here(segments[1]!))).equals(cached)).toBe(true);
      const refused = await fetch(here(segments.at(-1)!));
      expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([503, expect.any(Number)]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      // A server that plays from its cache must not be taken out by its load balancer.
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
      expect((await fetch(upload.url, { method: 'PUT', body: new Uint8Array(bytes) })).status).toBe(503);
      const before = proxy.requests;
      imported = (await create(server, 'h264-fragmented.mp4')).id;
      await until('the import needs S3', () => proxy.requests > before);
    } finally {
      proxy.isAway = false;
    }
    expect((await fetch(here(segments.at(-1)!))).status).toBe(200);
    expect((await settled(server, imported)).status).toBe('ready');
    expect((await fetch(upload.url, { method: 'PUT', body: new Uint8Array(bytes) })).status).toBe(200);
  });
});
