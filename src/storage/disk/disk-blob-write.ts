import assert from 'node:assert';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import type { ByteRange } from '../../lib/byte-ranges.js';
import { createInTurn } from '../../lib/in-turn.js';
import type { BlobInfo, LocalWrite, StagedFile } from '../blob-store.js';
import { HoleRecord } from './hole-record.js';
import { MissingRecord } from './missing-record.js';
import type { SyncedRecord } from './synced-record.js';
import { writeFully } from './write-fully.js';

/** Measured write rates: 360 MB/s with 64 KiB writes, 690 MB/s with 1 MiB writes. */
const BUFFER_BYTES = 1024 * 1024;
/** The most that a power failure can lose of a long write. */
const SYNC_EVERY_BYTES = 256 * 1024 * 1024;
/** The most that a killed process loses of a staged write. */
const RECORD_EVERY_BYTES = 8 * 1024 * 1024;

/**
 * The suffix of a second name of a staged file. Readers use it, so that a commit can move the file
 * while they read.
 */
export const STAGED_SUFFIX = '+staged';

/** Where a finished write goes: the disk, S3, or parts that any server continues. */
export interface Publisher {
  /** Called with the number of bytes in the file, whenever there are more or the write restarts. */
  onStored?(storedBytes: number): void;
  /** Called when bytes at `offset` that the file has had before are others. */
  onPatched?(offset: number): void;
  /** Does what takes time before `publish`, while the file can still be read. */
  prepare?(): Promise<void>;
  /** Makes the complete and synced file visible; it may be moved. */
  publish(): Promise<void>;
  /** Called once when the write ends in any way. */
  onEnd?(): void;
}

interface DiskBlobWriteOptions {
  readonly path: string;
  /** Absent for a write that can't be resumed. */
  readonly synced?: SyncedRecord | undefined;
  readonly publisher: Publisher;
  /** Called once, before `onEnd` of the publisher. */
  readonly onEnd?: () => void;
}

/**
 * A write to a file that keeps its bytes when the process dies; only buffered bytes are lost. When
 * the machine fails, the bytes up to the last sync are kept.
 */
export class DiskBlobWrite implements LocalWrite {
  /** Absent when a commit takes no time. */
  readonly prepareCommit?: () => Promise<void>;
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #holes: HoleRecord;
  readonly #missingRecord: MissingRecord;
  readonly #synced: SyncedRecord | undefined;
  readonly #publisher: Publisher;
  readonly #onEnd: (() => void) | undefined;
  // Readers of a staged file flush at any time: two flushes at once would count the buffered bytes
  // twice.
  readonly #inTurn = createInTurn();
  #storedBytes: number;
  #buffer: Buffer | undefined;
  #bufferedBytes = 0;
  #missing: ByteRange | undefined;
  /** While staged: the value in the hole record. */
  #recordedBytes: number | undefined;
  #isEnded = false;

  private constructor(
    options: DiskBlobWriteOptions,
    handle: FileHandle,
    { holes, missing, missingBytes }: { holes: HoleRecord; missing: MissingRecord; missingBytes: number },
    storedBytes: number,
  ) {
    this.#path = options.path;
    this.#synced = options.synced;
    this.#publisher = options.publisher;
    this.#onEnd = options.onEnd;
    this.#handle = handle;
    this.#holes = holes;
    this.#missingRecord = missing;
    if (missingBytes > 0) this.#missing = { start: 0, end: missingBytes };
    this.#storedBytes = storedBytes;
    const { publisher } = options;
    if (publisher.prepare)
      this.prepareCommit = async () => {
        await this.#inTurn(() => this.#flush());
        await publisher.prepare?.();
      };
    this.#report();
  }

  static async open(options: DiskBlobWriteOptions): Promise<DiskBlobWrite> {
    const { path } = options;
    // Not 'a': appending would ignore positions, and a write that failed halfway must be
    // overwritten.
    const handle = await open(path, 'r+').catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return open(path, 'wx+');
    });
    try {
      return await DiskBlobWrite.#resume(options, handle);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  static async #resume(options: DiskBlobWriteOptions, handle: FileHandle): Promise<DiskBlobWrite> {
    const { path, synced } = options;
    const holes = new HoleRecord(path);
    const contiguousBytes = await holes.read();
    if (contiguousBytes !== undefined) {
      const { size } = await handle.stat();
      // After a failure of the machine, the record may be older than what was synced.
      await handle.truncate(Math.min(Math.max(contiguousBytes, synced?.bytes ?? 0), size));
      await holes.remove();
    }
    const missing = new MissingRecord(path);
    let missingBytes = await missing.read();
    // Without what followed, nothing says what is missing.
    if (missingBytes > (await handle.stat()).size) {
      await handle.truncate(0);
      if (synced && synced.bytes > 0) await synced.set(0);
      await missing.remove();
      missingBytes = 0;
    }
    return new DiskBlobWrite(options, handle, { holes, missing, missingBytes }, (await handle.stat()).size);
  }

  get offsetBytes(): number {
    return this.#storedBytes + this.#bufferedBytes;
  }

  get missing(): ByteRange | undefined {
    return this.#missing;
  }

  startAt(offset: number): Promise<void> {
    return this.#inTurn(async () => {
      this.#bufferedBytes = 0;
      await this.#truncate(0);
      if (offset === 0) return;
      await this.#missingRecord.set(offset);
      this.#missing = { start: 0, end: offset };
      await this.#handle.truncate(offset);
      this.#storedBytes = offset;
    });
  }

  fill(chunk: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#missing || this.#isEnded) return;
      const { start, end } = this.#missing;
      const bytes = chunk.subarray(0, end - start);
      await writeFully(this.#handle, bytes, start);
      this.#missing = { start: start + bytes.length, end };
      if (this.#missing.start === end) {
        await this.#handle.datasync();
        await this.#missingRecord.remove();
        this.#missing = undefined;
      }
      this.#report();
    });
  }

  write(chunk: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      await this.#sync(SYNC_EVERY_BYTES);
      if (this.#bufferedBytes + chunk.length > BUFFER_BYTES) await this.#flush();
      if (chunk.length >= BUFFER_BYTES) {
        await writeFully(this.#handle, chunk, this.#storedBytes);
        return this.#grow(chunk.length);
      }
      this.#buffer ??= Buffer.allocUnsafe(BUFFER_BYTES);
      this.#buffer.set(chunk, this.#bufferedBytes);
      this.#bufferedBytes += chunk.length;
    });
  }

  sync(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#flush();
      await this.#record(1);
      await this.#sync(1);
    });
  }

  flush(): Promise<void> {
    return this.#inTurn(() => this.#flush());
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#flush();
      assert(sizeBytes <= this.#storedBytes, 'a write can only be truncated to fewer bytes');
      assert(!this.#missing || sizeBytes >= this.#missing.end, 'missing bytes can not be truncated');
      await this.#truncate(sizeBytes);
    });
  }

  patch(offset: number, bytes: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      await this.#flush();
      assert(offset + bytes.length <= this.#storedBytes, 'only stored bytes can be replaced');
      await writeFully(this.#handle, bytes, offset);
      this.#publisher.onPatched?.(offset);
    });
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    await this.#inTurn(() => this.#flush());
    return this.#readFile(offset, length);
  }

  stage(sizeBytes: number): Promise<StagedFile> {
    return this.#inTurn(() => this.#stage(sizeBytes));
  }

  restart(): Promise<void> {
    return this.#inTurn(async () => {
      this.#bufferedBytes = 0;
      await this.#truncate(0);
    });
  }

  commit(): Promise<BlobInfo> {
    return this.#inTurn(async () => {
      try {
        await this.#flush();
        assert(!this.#missing, 'a file that lacks bytes can not be committed');
        await this.#unstage();
        await this.#handle.sync();
        await this.#publisher.publish();
        await this.#synced?.remove();
        return { sizeBytes: this.#storedBytes };
      } finally {
        await this.#end();
      }
    });
  }

  suspend(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isEnded) return;
      try {
        await this.#flush();
        await this.#unstage();
        await this.#sync(1);
      } finally {
        await this.#end();
      }
    });
  }

  discard(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#end();
      await rm(this.#path, { force: true });
      await this.#holes.remove();
      await this.#missingRecord.remove();
      await this.#synced?.remove();
    });
  }

  async #truncate(sizeBytes: number): Promise<void> {
    this.#storedBytes = sizeBytes;
    const isWhole = !this.#missing || sizeBytes === 0;
    if (isWhole) this.#missing = undefined;
    this.#report();
    if (this.#synced && this.#synced.bytes > sizeBytes) await this.#synced.set(sizeBytes);
    await this.#unstage();
    await this.#handle.truncate(sizeBytes);
    if (isWhole) await this.#missingRecord.remove();
  }

  /** The publisher gets what is there from the start. */
  #report(): void {
    this.#publisher.onStored?.(this.#missing ? this.#missing.start : this.#storedBytes);
  }

  async #flush(): Promise<void> {
    if (!this.#buffer || this.#bufferedBytes === 0) return;
    const bytes = this.#buffer.subarray(0, this.#bufferedBytes);
    await writeFully(this.#handle, bytes, this.#storedBytes);
    this.#bufferedBytes = 0;
    await this.#grow(bytes.length);
  }

  async #grow(bytes: number): Promise<void> {
    this.#storedBytes += bytes;
    this.#report();
    await this.#record(RECORD_EVERY_BYTES);
  }

  async #record(leastBytes: number): Promise<void> {
    if (this.#recordedBytes === undefined || this.#storedBytes - this.#recordedBytes < leastBytes) return;
    await this.#holes.set(this.#storedBytes);
    this.#recordedBytes = this.#storedBytes;
  }

  async #sync(leastBytes: number): Promise<void> {
    if (!this.#synced || this.#storedBytes - this.#synced.bytes < leastBytes) return;
    await this.#handle.datasync();
    await this.#synced.set(this.#storedBytes);
  }

  async #stage(sizeBytes: number): Promise<StagedFile> {
    assert(!this.#missing, 'a file that lacks bytes can not be staged');
    await this.#flush();
    await this.#holes.set(this.#storedBytes);
    this.#recordedBytes = this.#storedBytes;
    await this.#handle.truncate(sizeBytes);
    const linkPath = this.#path + STAGED_SUFFIX;
    await rm(linkPath, { force: true });
    // Some file systems have no hard links.
    const isLinked = await link(this.#path, linkPath).then(
      () => true,
      () => false,
    );
    const readableBytes = (): number => this.#storedBytes;
    return {
      path: isLinked ? linkPath : this.#path,
      outlivesCommit: isLinked,
      release: () => rm(linkPath, { force: true }),
      get readableBytes() {
        return readableBytes();
      },
      flush: () => this.#inTurn(() => this.#flush()),
      put: (offset, chunk) => writeFully(this.#handle, chunk, offset),
      read: (offset, length) => this.#readFile(offset, length),
    };
  }

  /** Cuts off the bytes after the contiguous ones. */
  async #unstage(): Promise<void> {
    if (this.#recordedBytes === undefined) return;
    await this.#handle.truncate(this.#storedBytes);
    await this.#holes.remove();
    this.#recordedBytes = undefined;
  }

  async #readFile(offset: number, length: number): Promise<Uint8Array> {
    const { buffer, bytesRead } = await this.#handle.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  }

  async #end(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      await this.#handle.close();
    } finally {
      this.#onEnd?.();
      this.#publisher.onEnd?.();
    }
  }
}
