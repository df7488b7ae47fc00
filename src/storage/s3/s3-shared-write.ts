import { rm } from 'node:fs/promises';
import type { LimitFunction } from 'p-limit';
import type { BlobInfo, BlobWrite, SharedWrite, WriteJournal } from '../blob-store.js';
import { DiskBlobWrite } from '../disk/disk-blob-write.js';
import type { LocalCopies } from './local-copies.js';
import type { ObjectClient, ObjectInfo } from './object-client.js';
import { lacksParts, SharedParts } from './shared-parts.js';

/** What a server has of a shared write. */
export interface LocalFile {
  readonly path: string;
  /** It has the bytes from here; a hole is before them. */
  readonly fromBytes: number;
  /** The token of the lease that has saved its last bytes. */
  readonly savedBy: string | null;
}

interface S3SharedWriteOptions {
  readonly objects: ObjectClient;
  /** Get the file once it is stored, if it is whole. */
  readonly copies: Pick<LocalCopies, 'adopt'>;
  readonly key: string;
  readonly journal: WriteJournal;
  readonly file: LocalFile;
  readonly partBytes: number;
  readonly limit: LimitFunction;
  /** Called after `suspend` with the file, which a later write may continue. */
  readonly onSuspended: (file: LocalFile) => void;
  /** Removes what is left in the store, but not the blob. */
  readonly removeRemains: () => Promise<void>;
}

const MAX_TRIES = 3;

/**
 * A local file whose bytes go to `SharedParts`, and are recorded. `write`, `sync`, `read` and
 * `stage` are the local file's own methods, so that a chunk passes through no layer in between.
 */
export class S3SharedWrite implements SharedWrite {
  readonly #options: S3SharedWriteOptions;
  readonly write: BlobWrite['write'];
  readonly sync: BlobWrite['sync'];
  readonly read: BlobWrite['read'];
  readonly stage: BlobWrite['stage'];
  readonly #parts: SharedParts;
  readonly #local: DiskBlobWrite;
  #fromBytes: number;
  #info: ObjectInfo | undefined;
  #isEnded = false;

  private constructor(options: S3SharedWriteOptions, parts: SharedParts, local: DiskBlobWrite) {
    this.#options = options;
    this.#fromBytes = options.file.fromBytes;
    this.#parts = parts;
    this.#local = local;
    this.write = local.write.bind(local);
    this.sync = local.sync.bind(local);
    this.read = local.read.bind(local);
    this.stage = local.stage.bind(local);
  }

  static async open(options: S3SharedWriteOptions): Promise<S3SharedWrite> {
    const { objects, key, partBytes, limit, journal, file } = options;
    const parts = new SharedParts({ objects, key, path: file.path, partBytes, limit, journal });
    const local = await DiskBlobWrite.open({
      path: file.path,
      publisher: {
        onStored: (storedBytes) => parts.grow(storedBytes),
        publish: () => write.#publish(),
      },
    });
    const write = new S3SharedWrite(options, parts, local);
    return write;
  }

  get offsetBytes(): number {
    return this.#local.offsetBytes;
  }

  get isPartial(): boolean {
    return this.#fromBytes > 0;
  }

  async record(): Promise<void> {
    await this.#local.sync();
    await this.#parts.record();
  }

  continueWith(journal: WriteJournal): boolean {
    return this.#parts.continueWith(journal);
  }

  async restart(): Promise<void> {
    await this.#local.restart();
    await this.#parts.restart();
    this.#fromBytes = 0;
  }

  async commit(): Promise<BlobInfo> {
    await this.#local.sync();
    this.#info = await this.#complete();
    this.#isEnded = true;
    await this.#local.commit();
    // What fails is left to the sweep.
    await this.#options.removeRemains().catch(() => undefined);
    return { sizeBytes: this.#info.sizeBytes };
  }

  async suspend(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      await this.record();
    } finally {
      await this.#parts.settled();
      await this.#local.suspend();
      const { path } = this.#options.file;
      this.#options.onSuspended({ path, fromBytes: this.#fromBytes, savedBy: this.#parts.savedBy });
    }
  }

  async discard(): Promise<void> {
    this.#isEnded = true;
    await this.#parts.settled();
    await this.#local.discard();
  }

  /** The store may have lost parts: if the file is whole, everything is sent again. */
  async #complete(): Promise<ObjectInfo> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#parts.complete();
      } catch (error) {
        if (this.#fromBytes > 0 || tries >= MAX_TRIES || !lacksParts(error)) throw error;
        await this.#parts.restart();
        this.#parts.grow(this.#local.offsetBytes);
      }
    }
  }

  #publish(): Promise<void> {
    const { copies, key, file } = this.#options;
    return this.#fromBytes === 0 ? copies.adopt(key, file.path, this.#info!) : rm(file.path);
  }
}
