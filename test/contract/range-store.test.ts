import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { ByteRange } from '#kinora/lib/byte-ranges.js';
import { KinoraError } from '#kinora/lib/errors.js';
import type { BlobWrite, Mismatch, RangeBlobStore, RangeOrigin, RangeSource } from '#kinora/storage/blob-store.js';
import { BLOCK_BYTES } from '#kinora/storage/blob-store.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { RangeStore } from '#kinora/storage/range-store.js';
import { until } from '../support/servers/server-process.js';

const SIZE = 20 * BLOCK_BYTES + 1234;
const bytes = randomBytes(SIZE);
const KEY = 'assets/a/source';

let folder: string | undefined;
let blobs: RangeBlobStore;
let write: BlobWrite;
let source: RangeSource;
let requests: ByteRange[];
let fail: Error | undefined;
/** What the origin sends for ranges. */
let sent: Buffer;
let mismatches: Mismatch[];
/** Requests wait until it settles. */
let gate: Promise<void> | undefined;

const origin: RangeOrigin = {
  sizeBytes: SIZE,
  read: async function* (range) {
    requests.push(range);
    await gate;
    if (fail) throw fail;
    yield sent.subarray(range.start, range.end);
  },
};

const removeLast = async (): Promise<void> => {
  if (!folder) return;
  // Closes its file.
  await write.suspend();
  await rm(folder, { recursive: true });
};
beforeEach(async () => {
  await removeLast();
  folder = await mkdtemp(join(tmpdir(), 'kinora-ranges-'));
  blobs = new RangeStore(new DiskBlobStore(folder));
  write = await blobs.resumeWrite(KEY);
  requests = [];
  fail = undefined;
  gate = undefined;
  sent = bytes;
  mismatches = [];
  source = await blobs.openRanges(KEY, write, origin, async (mismatch) => {
    mismatches.push(mismatch);
    await source.close();
  });
});
afterAll(removeLast);

const isThere = async (path: string, { start, end }: ByteRange): Promise<boolean> =>
  (await readFile(path)).subarray(start, end).equals(bytes.subarray(start, end));

describe('a source that is read while it is stored', () => {
  it('does not end the one that follows it', async () => {
    const needed = [{ start: 0, end: 10 }];
    const reader = await blobs.openLocal(KEY, needed);
    const closed = source.close();
    const next = await blobs.openRanges(KEY, write, origin);
    await reader.release();
    await closed;
    const { staged, release } = await blobs.openLocal(KEY, needed);
    expect(staged?.ranges).toEqual([{ start: 0, end: BLOCK_BYTES }]);
    await release();
    await next.close();
    await expect(blobs.openLocal(KEY, needed)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('brings what is needed, in whole blocks, and each block once', async () => {
    const needed = [{ start: 5 * BLOCK_BYTES + 10, end: 6 * BLOCK_BYTES + 10 }];
    const [first, second] = await Promise.all([blobs.openLocal(KEY, needed), blobs.openLocal(KEY, needed)]);
    expect(first.staged?.ranges).toEqual([{ start: 5 * BLOCK_BYTES, end: 7 * BLOCK_BYTES }]);
    expect(second.staged).toEqual(first.staged);
    expect(await isThere(first.path, needed[0]!)).toBe(true);
    expect(requests).toEqual(first.staged?.ranges);
    await blobs.openLocal(KEY, [{ start: 6 * BLOCK_BYTES, end: 8 * BLOCK_BYTES }]);
    expect(requests.slice(1)).toEqual([{ start: 7 * BLOCK_BYTES, end: 8 * BLOCK_BYTES }]);
  });

  it('reads the last block up to the end of the file', async () => {
    const { path, staged } = await blobs.openLocal(KEY, [{ start: SIZE - 1, end: SIZE }]);
    expect(staged?.ranges).toEqual([{ start: 20 * BLOCK_BYTES, end: SIZE }]);
    expect(await isThere(path, staged!.ranges[0]!)).toBe(true);
  });

  it('gives every reader what opens the file', async () => {
    source.keepOpening([{ start: 0, end: 100 }]);
    const { staged } = await blobs.openLocal(KEY, [{ start: 3 * BLOCK_BYTES, end: 3 * BLOCK_BYTES + 1 }]);
    expect(staged?.ranges.map(({ start }) => start)).toEqual([0, 3 * BLOCK_BYTES]);
  });

  it('asks the origin for nothing that the download has brought', async () => {
    await source.target.write(bytes.subarray(0, 8 * BLOCK_BYTES));
    const { path, staged } = await blobs.openLocal(KEY, [{ start: 0, end: 2 * BLOCK_BYTES }]);
    expect(requests).toEqual([]);
    expect(await isThere(path, staged!.ranges[0]!)).toBe(true);
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

  it('is a blob like others once it is committed, and those who read it before read on', async () => {
    const needed = { start: 0, end: 1 };
    const reader = await blobs.openLocal(KEY, [needed]);
    await source.target.write(bytes);
    const committing = source.target.commit();
    const late = blobs.openLocal(KEY, [needed]);
    await committing;
    const { path, staged } = await late;
    expect(staged).toBeUndefined();
    expect((await readFile(path)).equals(bytes)).toBe(true);
    expect(await isThere(reader.path, { start: 0, end: SIZE })).toBe(true);
    await source.close();
    expect(await isThere(reader.path, { start: 0, end: SIZE })).toBe(true);
    await reader.release();
    await until(
      'nothing is left of the unfinished file',
      async () => (await readdir(join(folder!, '.partial'))).length === 0,
    );
  });

  it('is not there for readers once it is closed, and the download goes on', async () => {
    await source.close();
    await expect(blobs.openLocal(KEY, [])).rejects.toMatchObject({ code: 'not_found' });
    await source.target.write(bytes);
    expect(await source.target.commit()).toEqual({ sizeBytes: SIZE });
  });

  const lie = (at: number): void => {
    sent = Buffer.from(bytes);
    sent[at]! ^= 1;
  };
  /** In chunks that begin and end anywhere. */
  const download = async (from: number, until: number): Promise<void> => {
    for (let at = from; at < until; at += 100_003)
      await source.target.write(bytes.subarray(at, Math.min(at + 100_003, until)));
  };

  it.each([
    ['first', 9 * BLOCK_BYTES],
    ['middle', 9 * BLOCK_BYTES + 1000],
    ['last', 11 * BLOCK_BYTES - 1],
  ])('reports a mismatch when the %s byte of a part is another one in the download', async (_title, at) => {
    lie(at);
    const reader = await blobs.openLocal(KEY, [{ start: 9 * BLOCK_BYTES, end: 11 * BLOCK_BYTES }]);
    let released = false;
    const written = download(0, SIZE).then(() => expect(released).toBe(true));
    await until('it differs', () => mismatches.length > 0);
    // Whoever reads the part keeps it as it was.
    const part = (await readFile(reader.path)).subarray(9 * BLOCK_BYTES, 11 * BLOCK_BYTES);
    expect(part.equals(sent.subarray(9 * BLOCK_BYTES, 11 * BLOCK_BYTES))).toBe(true);
    released = true;
    await reader.release();
    await written;
    expect(mismatches).toEqual(['differs']);
    await source.target.commit();
    expect((await readFile((await blobs.openLocal(KEY)).path)).equals(bytes)).toBe(true);
  });

  it('keeps what the download has stored of a block whose rest is fetched', async () => {
    await download(0, 2 * BLOCK_BYTES + 500);
    lie(2 * BLOCK_BYTES + 10);
    const needed = { start: 2 * BLOCK_BYTES, end: 3 * BLOCK_BYTES };
    const { path, release } = await blobs.openLocal(KEY, [needed]);
    expect(requests).toEqual([{ start: 2 * BLOCK_BYTES + 500, end: 3 * BLOCK_BYTES }]);
    expect(await isThere(path, needed)).toBe(true);
    await release();
    await download(2 * BLOCK_BYTES + 500, SIZE);
    expect(mismatches).toEqual([]);
  });

  // A write that has been let through may not have begun yet.
  it.each(Array.from({ length: 12 }, (_, ticks) => ticks))(
    'never gives other bytes to a reader that comes %i steps after a write began',
    async (ticks) => {
      sent = randomBytes(SIZE);
      const chunk = bytes.subarray(0, 4 * BLOCK_BYTES);
      const writing = source.target.write(chunk);
      for (let tick = 0; tick < ticks; tick += 1) await undefined;
      const { path, staged, release } = await blobs.openLocal(KEY, [{ start: 0, end: 1 }]);
      const read = await isThere(path, staged!.ranges[0]!);
      await release();
      await writing;
      expect(mismatches).toEqual(read ? [] : ['differs']);
      await source.target.write(bytes.subarray(chunk.length));
      await source.target.commit();
      expect(await isThere((await blobs.openLocal(KEY)).path, { start: 0, end: SIZE })).toBe(true);
    },
  );

  it('reports a mismatch when the download starts again', async () => {
    await blobs.openLocal(KEY, [{ start: 0, end: 1 }]).then(({ release }) => release());
    await download(0, 1000);
    await source.target.restart();
    expect(mismatches).toEqual(['restarts']);
    expect(source.target.offsetBytes).toBe(0);
  });

  it('gives its ranges another version than an earlier source of the same blob', async () => {
    const versionOf = async () => {
      const { staged, release } = await blobs.openLocal(KEY, [{ start: 0, end: 1 }]);
      await release();
      return staged!.version;
    };
    const first = await versionOf();
    await source.target.suspend();
    source = await blobs.openRanges(KEY, await blobs.resumeWrite(KEY), origin);
    expect(await versionOf()).not.toBe(first);
  });
});
