import { join } from 'node:path';
import { Readable } from 'node:stream';
import pLimit, { type LimitFunction } from 'p-limit';
import type { ByteRanges } from '../../lib/byte-ranges.js';
import type { BlobInfo, BlobStore, LocalBlob, LocalWrite, SharedWrite, WriteJournal } from '../blob-store.js';
import { safePath } from '../disk/safe-path.js';
import { UnfinishedWrites } from '../disk/unfinished-writes.js';
import { FileUpload } from './file-upload.js';
import { LocalCopies } from './local-copies.js';
import { PART_BYTES } from './multipart-upload.js';
import type { ObjectClient } from './object-client.js';
import { SharedWrites } from './shared-writes.js';

export interface S3BlobStoreOptions {
  readonly objects: ObjectClient;
  /** For unfinished writes, and for copies of what media processes read. */
  readonly localDir: string;
  /** The most that copies take on the disk. */
  readonly maxLocalBytes: number;
  /** The size of the parts of shared writes, at least 5 MiB. */
  readonly partBytes?: number;
}

/** 16 MiB of memory each. */
const PARTS_IN_FLIGHT = 4;
const DELETES_IN_FLIGHT = 8;

/**
 * Blobs are objects, named by their keys. An unfinished write is a local file, which is uploaded as
 * it grows; its commit completes the object, and the file becomes the local copy.
 */
export class S3BlobStore implements BlobStore {
  readonly isLocal = false;
  readonly #objects: ObjectClient;
  readonly #localDir: string;
  readonly #copies: LocalCopies;
  readonly #shared: SharedWrites;
  readonly #unfinished: UnfinishedWrites;
  readonly #deletes: LimitFunction = pLimit(DELETES_IN_FLIGHT);

  private constructor(
    { objects, localDir }: S3BlobStoreOptions,
    { copies, shared, limit }: { copies: LocalCopies; shared: SharedWrites; limit: LimitFunction },
  ) {
    this.#objects = objects;
    this.#localDir = localDir;
    this.#copies = copies;
    this.#shared = shared;
    this.#unfinished = new UnfinishedWrites(
      localDir,
      (key, path) => new FileUpload({ objects, copies, key, path, limit }),
    );
  }

  static async open(options: S3BlobStoreOptions): Promise<S3BlobStore> {
    const { objects, localDir, maxLocalBytes, partBytes = PART_BYTES } = options;
    const copies = await LocalCopies.open({ objects, dir: join(localDir, '.copies'), maxBytes: maxLocalBytes });
    const limit = pLimit(PARTS_IN_FLIGHT);
    const shared = await SharedWrites.open({ objects, copies, dir: join(localDir, '.shared'), partBytes, limit });
    return new S3BlobStore(options, { copies, shared, limit });
  }

  async resumeWrite(key: string): Promise<LocalWrite> {
    return this.#unfinished.open(this.#checked(key), { resumes: true });
  }

  async resumeShared(key: string, journal: WriteJournal): Promise<SharedWrite> {
    return this.#shared.resume(this.#checked(key), journal);
  }

  async discardShared(key: string): Promise<void> {
    await this.#shared.discard(this.#checked(key));
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#objects.put(this.#checked(key), bytes);
    await this.#copies.forget((other) => other === key);
  }

  async read(key: string, range: { start: number; end?: number } = { start: 0 }): Promise<Readable | undefined> {
    const object = await this.#objects.open(this.#checked(key), range);
    return object && Readable.from(object.chunks, { objectMode: false });
  }

  async stat(key: string): Promise<BlobInfo | undefined> {
    const info = await this.#objects.stat(this.#checked(key));
    return info && { sizeBytes: info.sizeBytes };
  }

  async openLocal(key: string, needed?: ByteRanges): Promise<LocalBlob> {
    return this.#copies.open(this.#checked(key), needed);
  }

  async delete(key: string): Promise<void> {
    await this.#objects.delete(this.#checked(key));
    await this.#copies.forget((other) => other === key);
  }

  async deletePrefix(prefix: string): Promise<void> {
    const start = `${this.#checked(prefix)}/`;
    await this.#unfinished.discard(prefix);
    await this.#shared.forget(start);
    for (const { key, uploadId } of await this.#objects.listParts(start)) await this.#objects.abortParts(key, uploadId);
    const keys: string[] = [];
    for await (const { key } of this.#objects.list(start)) keys.push(key);
    await Promise.all(keys.map((key) => this.#deletes(() => this.#objects.delete(key))));
    await this.#copies.forget((key) => key.startsWith(start));
  }

  list(prefix: string): AsyncIterable<{ readonly key: string; readonly sizeBytes: number }> {
    return this.#objects.list(`${this.#checked(prefix)}/`);
  }

  async abortUploads(key: string): Promise<void> {
    for (const upload of await this.#objects.listParts(this.#checked(key)))
      if (upload.key === key) await this.#objects.abortParts(key, upload.uploadId);
  }

  discardUnfinished(prefix: string): Promise<void> {
    return this.#unfinished.discard(prefix);
  }

  sweepUnfinished(needed: ReadonlySet<string>): Promise<number> {
    return this.#unfinished.sweep(needed);
  }

  /** @throws KinoraError `internal_error` */
  #checked(key: string): string {
    safePath(this.#localDir, key);
    return key;
  }
}
