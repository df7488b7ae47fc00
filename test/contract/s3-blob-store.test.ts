import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BLOCK_BYTES, type BlobStore } from '#kinora/storage/blob-store.js';
import { PART_BYTES } from '#kinora/storage/s3/multipart-upload.js';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { S3BlobStore } from '#kinora/storage/s3/s3-blob-store.js';
import { makeBucket } from '../support/servers/s3-bucket.js';
import { type S3Faults, type StrictS3Proxy, startStrictS3Proxy } from '../support/servers/strict-s3-proxy.js';
import { type Swift, startSwift, swiftPath } from '../support/servers/swift.js';
import { describeBlobStore } from './blob-store.js';

const MIB = 2 ** 20;

describe.runIf(swiftPath)('on S3', () => {
  let swift: Swift;
  let proxy: StrictS3Proxy;
  const folders: string[] = [];
  const clients: ObjectClient[] = [];

  beforeAll(async () => {
    swift = await startSwift();
    proxy = await startStrictS3Proxy(swift.url);
    await makeBucket(swift.settings('videos'));
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await proxy?.stop();
    await swift?.close();
    for (const folder of folders) await rm(folder, { recursive: true });
  });

  const openStore = async (
    endpoint: string,
    prefix: string,
    { localDir = mkdtempSync(join(tmpdir(), 'kinora-s3-')), maxLocalBytes = 1024 * MIB } = {},
  ) => {
    folders.push(localDir);
    const objects = await ObjectClient.open({ ...swift.settings('videos', endpoint), prefix });
    clients.push(objects);
    const reopen = () => S3BlobStore.open({ objects, localDir, maxLocalBytes });
    return { store: await reopen(), reopen, localDir, objects };
  };
  const through = (prefix: string, faults: S3Faults) => async () => {
    proxy.faults = faults;
    return { ...(await openStore(proxy.url, prefix)), close: async () => {} };
  };

  describeBlobStore('without a prefix', async () => ({ ...(await openStore(swift.url, '')), close: async () => {} }));
  describeBlobStore('that asks to slow down', through('slow', { slowDown: true }));
  describeBlobStore('that cuts bodies, 20 ms away', through('cut', { cutBodies: true, latencyMs: 20 }));

  const write = async (store: BlobStore, key: string, bytes: Buffer, stepBytes = MIB): Promise<void> => {
    const target = await store.resumeWrite(key);
    for (let at = target.offsetBytes; at < bytes.length; at += stepBytes)
      await target.write(bytes.subarray(at, at + stepBytes));
    await target.commit();
  };
  const isEqual = async (store: BlobStore, key: string, bytes: Buffer): Promise<boolean> =>
    (await buffer((await store.read(key))!)).equals(bytes);

  it.each<[S3Faults, number]>([
    [{ slowDown: true }, 2],
    [{ cutBodies: true }, 1],
    [{ wrongEtag: true }, 1],
  ])('stores a large file in equal parts with %j', async (faults, parts) => {
    proxy.faults = faults;
    const { store } = await openStore(proxy.url, `large-${Object.keys(faults).join()}`);
    const bytes = randomBytes(parts * PART_BYTES + MIB + 17);
    await write(store, 'assets/a/source', bytes);
    expect(await store.stat('assets/a/source')).toEqual({ sizeBytes: bytes.length });
    expect(await isEqual(store, 'assets/a/source', bytes)).toBe(true);
    expect(proxy.violations).toEqual([]);
    for (const fault of Object.keys(faults) as (keyof S3Faults)[]) expect(proxy.injected[fault]).toBeGreaterThan(0);
  });

  it('starts again with other bytes, and leaves no parts behind', async () => {
    proxy.faults = {};
    const { store, objects } = await openStore(proxy.url, 'again');
    const target = await store.resumeWrite('assets/a/source');
    await target.write(randomBytes(PART_BYTES + MIB));
    await target.restart();
    const bytes = randomBytes(PART_BYTES + 2 * MIB);
    await target.write(bytes);
    await target.commit();
    expect(await isEqual(store, 'assets/a/source', bytes)).toBe(true);
    await expect.poll(() => objects.listParts('')).toEqual([]);
  });

  it('uploads the parts before the commit, and removes them when the write is discarded', async () => {
    proxy.faults = {};
    const { store, objects } = await openStore(proxy.url, 'early-parts');
    const target = await store.resumeWrite('assets/a/source');
    await target.write(randomBytes(PART_BYTES + MIB));
    await expect.poll(() => objects.listParts('assets/a/')).toHaveLength(1);
    await target.discard();
    await expect.poll(() => objects.listParts('assets/a/')).toEqual([]);
    expect(await store.stat('assets/a/source')).toBeUndefined();
  });

  it('lists blobs, and removes what servers that were lost have sent of one', async () => {
    proxy.faults = {};
    const { store, objects } = await openStore(proxy.url, 'lost');
    for (const key of ['assets/a/live/1-0', 'assets/a/live/1-5', 'assets/a/source'])
      await store.put(key, Buffer.from(key));
    const listed: string[] = [];
    for await (const { key, sizeBytes } of store.list('assets/a/live')) listed.push(`${key} ${sizeBytes}`);
    expect(listed.sort()).toEqual(['assets/a/live/1-0 17', 'assets/a/live/1-5 17']);
    await objects.beginParts('assets/a/source');
    await objects.beginParts('assets/a/source-2');
    await store.abortUploads('assets/a/source');
    expect((await objects.listParts('')).map(({ key }) => key)).toEqual(['assets/a/source-2']);
  });

  it('commits what a killed process had written', async () => {
    proxy.faults = {};
    const { store, reopen } = await openStore(proxy.url, 'killed');
    const bytes = randomBytes(PART_BYTES + 2 * MIB);
    const target = await store.resumeWrite('assets/a/source');
    await target.write(bytes.subarray(0, PART_BYTES + MIB));
    await target.sync();
    const after = await reopen();
    await write(after, 'assets/a/source', bytes);
    expect(await isEqual(after, 'assets/a/source', bytes)).toBe(true);
  });

  it('fetches only the blocks that are read, each once', async () => {
    proxy.faults = {};
    const bytes = randomBytes(6 * MIB);
    await write((await openStore(proxy.url, 'ranges')).store, 'assets/a/source', bytes);
    const { store } = await openStore(proxy.url, 'ranges');
    const before = { ...proxy.gets };
    const needed = [{ start: 3 * MIB + 5, end: 4 * MIB }];
    const [local, again] = await Promise.all([1, 2].map(() => store.openLocal('assets/a/source', needed)));
    expect(proxy.gets.bytes - before.bytes).toBe(MIB);
    expect(local!.staged!.ranges).toEqual([{ start: 3 * MIB, end: 4 * MIB }]);
    const found = await readFile(local!.path);
    expect(found.length).toBe(bytes.length);
    expect(found.subarray(3 * MIB, 4 * MIB).equals(bytes.subarray(3 * MIB, 4 * MIB))).toBe(true);
    const whole = await store.openLocal('assets/a/source');
    expect(whole.staged).toBeUndefined();
    expect((await readFile(whole.path)).equals(bytes)).toBe(true);
    expect(proxy.gets.bytes - before.bytes).toBe(bytes.length);
    for (const lease of [local!, again!, whole]) await lease.release();
  });

  it('asks again when an answer is late, and gives up the late one', async () => {
    proxy.faults = {};
    const { store } = await openStore(proxy.url, 'late');
    await store.put('small', Buffer.from('0123456789'));
    for (let n = 0; n < 20; n += 1) await buffer((await store.read('small'))!);
    proxy.stallNext = 1;
    expect(String(await buffer((await store.read('small', { start: 3 }))!))).toBe('3456789');
    await expect.poll(() => proxy.abandoned).toBe(1);
  });

  it('asks for the rest of a body that stalls', async () => {
    proxy.faults = {};
    const { store } = await openStore(proxy.url, 'stalled');
    const bytes = randomBytes(MIB);
    await store.put('small', bytes);
    const before = { ...proxy.gets };
    proxy.stallBodies = 1;
    expect((await buffer((await store.read('small'))!)).equals(bytes)).toBe(true);
    expect(proxy.gets.requests - before.requests).toBe(2);
    // The second answer has only what the first one lacked.
    expect(proxy.gets.bytes - before.bytes).toBeLessThan(1.6 * MIB);
  });

  it('learns the size of an object from the first bytes that are needed', async () => {
    proxy.faults = {};
    const bytes = randomBytes(6 * MIB + 100);
    await (await openStore(proxy.url, 'sized')).store.put('assets/a/source', bytes);
    const { store } = await openStore(proxy.url, 'sized');
    const before = proxy.requests;
    const end = await store.openLocal('assets/a/source', [{ start: 6 * MIB, end: 6 * MIB + 100 }]);
    expect(proxy.requests - before).toBe(1);
    expect((await readFile(end.path)).subarray(6 * MIB).equals(bytes.subarray(6 * MIB))).toBe(true);
    const whole = await store.openLocal('assets/a/source');
    expect((await readFile(whole.path)).equals(bytes)).toBe(true);
    for (const lease of [end, whole]) await lease.release();
    const { store: other } = await openStore(proxy.url, 'sized');
    const first = await other.openLocal('assets/a/source');
    expect((await readFile(first.path)).equals(bytes)).toBe(true);
    await first.release();
  });

  it('never shows parts of two versions, and sees the new one afterwards', async () => {
    proxy.faults = {};
    const { store } = await openStore(proxy.url, 'versions');
    const { store: other } = await openStore(proxy.url, 'versions');
    await store.put('assets/a/source', randomBytes(2 * BLOCK_BYTES));
    await (await other.openLocal('assets/a/source', [{ start: 0, end: 1 }])).release();
    const second = randomBytes(2 * BLOCK_BYTES);
    await store.put('assets/a/source', second);
    const both = [{ start: 0, end: 2 * BLOCK_BYTES }];
    await expect(other.openLocal('assets/a/source', both)).rejects.toMatchObject({ code: 'unavailable' });
    const after = await other.openLocal('assets/a/source', both);
    expect((await readFile(after.path)).equals(second)).toBe(true);
    await after.release();
  });

  it('keeps copies within their limit, but those in use', async () => {
    proxy.faults = {};
    const { store } = await openStore(proxy.url, 'bounded', { maxLocalBytes: 3 * MIB });
    const files = [0, 1, 2, 3].map(() => randomBytes(MIB));
    for (const [index, bytes] of files.entries()) await store.put(`assets/${index}/source`, bytes);
    const open = (index: number) => store.openLocal(`assets/${index}/source`);
    const held = await open(0);
    const paths = [held.path];
    for (const index of [1, 2, 3]) {
      const local = await open(index);
      paths.push(local.path);
      await local.release();
    }
    const isThere = await Promise.all(
      paths.map((path) =>
        readFile(path).then(
          () => true,
          () => false,
        ),
      ),
    );
    expect(isThere).toEqual([true, false, true, true]);
    await held.release();
  });

  it('removes a copy only when its reader has finished', async () => {
    proxy.faults = {};
    const { store } = await openStore(proxy.url, 'deleted');
    await store.put('assets/a/source', Buffer.from('bytes'));
    const local = await store.openLocal('assets/a/source');
    await store.deletePrefix('assets/a');
    expect(String(await readFile(local.path))).toBe('bytes');
    await local.release();
    await expect(readFile(local.path)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(store.openLocal('assets/a/source')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is unavailable while the server is away, and keeps what is local', async () => {
    const away = await startStrictS3Proxy(swift.url);
    const { store } = await openStore(away.url, 'away');
    await store.put('assets/a/source', randomBytes(2 * BLOCK_BYTES));
    await (await store.openLocal('assets/a/source', [{ start: 0, end: BLOCK_BYTES }])).release();
    await away.stop();
    await expect(store.stat('assets/a/source')).rejects.toMatchObject({ code: 'unavailable', failure: 'retry' });
    const held = await store.openLocal('assets/a/source', [{ start: 0, end: BLOCK_BYTES }]);
    await held.release();
    const missing = store.openLocal('assets/a/source', [{ start: BLOCK_BYTES, end: BLOCK_BYTES + 1 }]);
    await expect(missing).rejects.toMatchObject({ code: 'unavailable' });
  });
});
