import { link, open, rm } from 'node:fs/promises';
import { createInTurn } from '../../lib/in-turn.js';
import type { BlobInfo, BlobWrite, StagedFile } from '../blob-store.js';
import { openHoleRecord } from './hole-record.js';
import type { SyncedRecord } from './synced-record.js';
import { writeFully } from './write-fully.js';

/** Measured write rates: 360 MB/s with 64 KiB writes, 690 MB/s with 1 MiB writes. */
const BUFFER_BYTES = 1024 * 1024;
/** The most that a power failure can lose of a long write. */
const SYNC_EVERY_BYTES = 256 * 1024 * 1024;
/** The most that a killed process loses of a staged write. */
const RECORD_EVERY_BYTES = 8 * 1024 * 1024;

/** The suffix of a second name of a staged file. Readers use it, so that a commit can move the file while they read. */
export const STAGED_SUFFIX = '+staged';

interface DiskBlobWriteOptions {
  readonly path: string;
  /** Absent for a write that can't be resumed. */
  readonly synced?: SyncedRecord | undefined;
  /** Called with the number of bytes in the file, whenever there are more or the write starts again. */
  readonly onStored: (storedBytes: number) => void;
  /** Does what takes time before `publish`, while the file can still be read. */
  readonly settle: (() => Promise<void>) | undefined;
  /** Makes the complete and synced file visible; it may be moved. */
  readonly publish: () => Promise<void>;
  /** Called once when the write ends in any way. */
  readonly onEnd: () => void;
}

/**
 * A write to a file that keeps its bytes when the process dies; only buffered bytes are lost. When the machine fails,
 * the bytes up to the last sync are kept.
 */
export const openDiskBlobWrite = async ({
  path,
  synced,
  onStored,
  settle,
  publish,
  onEnd,
}: DiskBlobWriteOptions): Promise<BlobWrite> => {
  // Not 'a': appending would ignore positions, and a write that failed halfway must be overwritten.
  const handle = await open(path, 'r+').catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return open(path, 'wx+');
  });
  const holes = openHoleRecord(path);
  const contiguousBytes = await holes.read();
  if (contiguousBytes !== undefined) {
    const { size } = await handle.stat();
    // After a failure of the machine, the record may be older than what was synced.
    await handle.truncate(Math.min(Math.max(contiguousBytes, synced?.bytes ?? 0), size));
    await holes.remove();
  }
  let storedBytes = (await handle.stat()).size;
  onStored(storedBytes);
  /** While staged: the value in the hole record. */
  let recordedBytes: number | undefined;
  let buffer: Buffer | undefined;
  let bufferedBytes = 0;
  let ended = false;
  // Readers of a staged file flush at any time: two flushes at once would count the buffered bytes twice.
  const inTurn = createInTurn();

  const flush = async (): Promise<void> => {
    if (!buffer || bufferedBytes === 0) return;
    await writeFully(handle, buffer.subarray(0, bufferedBytes), storedBytes);
    storedBytes += bufferedBytes;
    bufferedBytes = 0;
    onStored(storedBytes);
    await record(RECORD_EVERY_BYTES);
  };
  const record = async (leastBytes: number): Promise<void> => {
    if (recordedBytes === undefined || storedBytes - recordedBytes < leastBytes) return;
    await holes.set(storedBytes);
    recordedBytes = storedBytes;
  };
  /** Cuts off the bytes after the contiguous ones. */
  const unstage = async (): Promise<void> => {
    if (recordedBytes === undefined) return;
    await handle.truncate(storedBytes);
    await holes.remove();
    recordedBytes = undefined;
  };
  const sync = async (leastBytes: number): Promise<void> => {
    if (!synced || storedBytes - synced.bytes < leastBytes) return;
    await handle.datasync();
    await synced.set(storedBytes);
  };
  const end = async (): Promise<void> => {
    if (ended) return;
    ended = true;
    try {
      await handle.close();
    } finally {
      onEnd();
    }
  };

  const write = async (chunk: Uint8Array): Promise<void> => {
    await sync(SYNC_EVERY_BYTES);
    if (bufferedBytes + chunk.length > BUFFER_BYTES) await flush();
    if (chunk.length >= BUFFER_BYTES) {
      await writeFully(handle, chunk, storedBytes);
      storedBytes += chunk.length;
      onStored(storedBytes);
      await record(RECORD_EVERY_BYTES);
      return;
    }
    buffer ??= Buffer.allocUnsafe(BUFFER_BYTES);
    buffer.set(chunk, bufferedBytes);
    bufferedBytes += chunk.length;
  };
  const restart = async (): Promise<void> => {
    bufferedBytes = 0;
    storedBytes = 0;
    onStored(0);
    if (synced && synced.bytes > 0) await synced.set(0);
    await unstage();
    await handle.truncate(0);
  };
  const commit = async (): Promise<BlobInfo> => {
    try {
      await flush();
      await unstage();
      await handle.sync();
      await publish();
      await synced?.remove();
      return { sizeBytes: storedBytes };
    } finally {
      await end();
    }
  };
  const suspend = async (): Promise<void> => {
    if (ended) return;
    try {
      await flush();
      await unstage();
      await sync(1);
    } finally {
      await end();
    }
  };
  const stage = async (sizeBytes: number): Promise<StagedFile> => {
    await flush();
    await holes.set(storedBytes);
    recordedBytes = storedBytes;
    await handle.truncate(sizeBytes);
    const linkPath = path + STAGED_SUFFIX;
    await rm(linkPath, { force: true });
    // Some file systems have no hard links.
    const isLinked = await link(path, linkPath).then(
      () => true,
      () => false,
    );
    return {
      path: isLinked ? linkPath : path,
      outlivesCommit: isLinked,
      release: () => rm(linkPath, { force: true }),
      get readableBytes() {
        return storedBytes;
      },
      flush: () => inTurn(flush),
      put: (offset, chunk) => writeFully(handle, chunk, offset),
      read,
    };
  };
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    const { buffer: bytes, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
    return bytes.subarray(0, bytesRead);
  };

  return {
    get offsetBytes() {
      return storedBytes + bufferedBytes;
    },
    write: (chunk) => inTurn(() => write(chunk)),
    restart: () => inTurn(restart),
    ...(settle && {
      settle: async () => {
        await inTurn(flush);
        await settle();
      },
    }),
    commit: () => inTurn(commit),
    suspend: () => inTurn(suspend),
    sync: () =>
      inTurn(async () => {
        await flush();
        await record(1);
        await sync(1);
      }),
    read: async (offset, length) => {
      await inTurn(flush);
      return read(offset, length);
    },
    discard: () =>
      inTurn(async () => {
        await end();
        await rm(path, { force: true });
        await holes.remove();
        await synced?.remove();
      }),
    stage: (sizeBytes) => inTurn(() => stage(sizeBytes)),
  };
};
