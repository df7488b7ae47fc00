import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { ByteRange } from '#kinora/lib/byte-ranges.js';
import { KinoraError } from '#kinora/lib/errors.js';
import type { BlobWrite, RangeBlobStore, RangeOrigin, RangeSource } from '#kinora/storage/blob-store.js';
import { BLOCK_BYTES } from '#kinora/storage/blob-store.js';
import { createDiskBlobStore } from '#kinora/storage/disk-blob-store.js';
import { createRangeBlobStore } from '#kinora/storage/range-store.js';

const SIZE = 20 * BLOCK_BYTES + 1234;
const bytes = randomBytes(SIZE);
const KEY = 'assets/a/source';

let folder: string | undefined;
let blobs: RangeBlobStore;
let write: BlobWrite;
let source: RangeSource;
let requests: ByteRange[];
let fail: Error | undefined;
/** Requests wait until it settles. */
let gate: Promise<void> | undefined;

const origin: RangeOrigin = {
  sizeBytes: SIZE,
  read: async function* (range) {
    requests.push(range);
    await gate;
    if (fail) throw fail;
    yield bytes.subarray(range.start, range.end);
  },
};

beforeEach(async () => {
  if (folder) await rm(folder, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), 'kinora-ranges-'));
  blobs = createRangeBlobStore(createDiskBlobStore(folder));
  write = await blobs.resumeWrite(KEY);
  requests = [];
  fail = undefined;
  gate = undefined;
  source = await blobs.openRanges(KEY, write, origin);
});
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true });
});

const isThere = async (path: string, { start, end }: ByteRange): Promise<boolean> =>
  (await readFile(path)).subarray(start, end).equals(bytes.subarray(start, end));

describe('a source that is read while it is stored', () => {
  it('brings what is needed, in whole blocks, and each block once', async () => {
    const needed = [{ start: 5 * BLOCK_BYTES + 10, end: 6 * BLOCK_BYTES + 10 }];
    const [first, second] = await Promise.all([blobs.openLocal(KEY, needed), blobs.openLocal(KEY, needed)]);
    expect(first.staged).toEqual([{ start: 5 * BLOCK_BYTES, end: 7 * BLOCK_BYTES }]);
    expect(second.staged).toEqual(first.staged);
    expect(await isThere(first.path, needed[0]!)).toBe(true);
    expect(requests).toEqual(first.staged);
    await blobs.openLocal(KEY, [{ start: 6 * BLOCK_BYTES, end: 8 * BLOCK_BYTES }]);
    expect(requests.slice(1)).toEqual([{ start: 7 * BLOCK_BYTES, end: 8 * BLOCK_BYTES }]);
  });

  it('reads the last block up to the end of the file', async () => {
    const { path, staged } = await blobs.openLocal(KEY, [{ start: SIZE - 1, end: SIZE }]);
    expect(staged).toEqual([{ start: 20 * BLOCK_BYTES, end: SIZE }]);
    expect(await isThere(path, staged![0]!)).toBe(true);
  });

  it('gives every reader what opens the file', async () => {
    source.keepOpening([{ start: 0, end: 100 }]);
    const { staged } = await blobs.openLocal(KEY, [{ start: 3 * BLOCK_BYTES, end: 3 * BLOCK_BYTES + 1 }]);
    expect(staged?.map(({ start }) => start)).toEqual([0, 3 * BLOCK_BYTES]);
  });

  it('asks the origin for nothing that the download has brought', async () => {
    await source.target.write(bytes.subarray(0, 8 * BLOCK_BYTES));
    const { path, staged } = await blobs.openLocal(KEY, [{ start: 0, end: 2 * BLOCK_BYTES }]);
    expect(requests).toEqual([]);
    expect(await isThere(path, staged![0]!)).toBe(true);
  });

  it('lets the download wait while parts are fetched', async () => {
    let open!: () => void;
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const reading = blobs.openLocal(KEY, [{ start: 0, end: 1 }]);
    const writing = source.target.write(bytes.subarray(0, 10)).then(() => 'written');
    expect(await Promise.race([writing, new Promise((resolve) => setImmediate(() => resolve('waits')))])).toBe('waits');
    open();
    await reading;
    expect(await writing).toBe('written');
  });

  it('fails the readers of a part that can not be had, and tries again for the next', async () => {
    fail = new KinoraError('source_unreachable');
    await expect(blobs.openLocal(KEY, [{ start: 0, end: 1 }])).rejects.toMatchObject({ code: 'source_unreachable' });
    fail = undefined;
    const { path } = await blobs.openLocal(KEY, [{ start: 0, end: 1 }]);
    expect(await isThere(path, { start: 0, end: 1 })).toBe(true);
  });

  it('is committed when nobody reads it any more, and is a blob like others then', async () => {
    const reader = await blobs.openLocal(KEY, [{ start: 0, end: 1 }]);
    await source.target.write(bytes);
    let committed = false;
    const committing = source.target.commit().then(() => {
      committed = true;
    });
    const late = blobs.openLocal(KEY, [{ start: 0, end: 1 }]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(committed).toBe(false);
    await reader.release();
    await committing;
    const { path, staged } = await late;
    expect(staged).toBeUndefined();
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  it('is not there for readers once it is closed, and the download goes on', async () => {
    await source.close();
    await expect(blobs.openLocal(KEY, [])).rejects.toMatchObject({ code: 'not_found' });
    await source.target.write(bytes);
    expect(await source.target.commit()).toEqual({ sizeBytes: SIZE });
  });
});
