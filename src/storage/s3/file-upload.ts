import type { LimitFunction } from 'p-limit';
import type { Publisher } from '../disk/disk-blob-write.js';
import { readFileRange } from '../disk/read-file-range.js';
import type { LocalCopies } from './local-copies.js';
import { MAX_PARTS, MultipartUpload, PART_BYTES, statStored } from './multipart-upload.js';
import type { ObjectClient, ObjectInfo } from './object-client.js';

interface FileUploadOptions {
  readonly objects: ObjectClient;
  /** Get the file once it is stored. */
  readonly copies: Pick<LocalCopies, 'adopt'>;
  readonly key: string;
  /** The file, which grows. What it has never changes, until `onStored` gets a lower number. */
  readonly path: string;
  /** Shared by all uploads: each part in flight takes its size in memory. */
  readonly limit: LimitFunction;
}

const MAX_TRIES = 3;

/** Uploads the file of one writer while it is being written. */
export class FileUpload implements Publisher {
  readonly #options: FileUploadOptions;
  #upload: MultipartUpload | undefined;
  #sizeBytes = 0;
  #partBytes = PART_BYTES;
  /** The file had parts when it was opened: another process may have sent them. */
  #isResumed: boolean | undefined;

  constructor(options: FileUploadOptions) {
    this.#options = options;
  }

  onStored(storedBytes: number): void {
    this.#isResumed ??= storedBytes > this.#partBytes;
    if (storedBytes < this.#sizeBytes) this.#abort();
    this.#sizeBytes = storedBytes;
    if (storedBytes > this.#partBytes) this.#open().grow(storedBytes);
  }

  onPatched(offset: number): void {
    this.#upload?.replaced(offset);
  }

  async prepare(): Promise<void> {
    // A failure shows again in `publish`.
    await this.#sendAll().catch(() => undefined);
  }

  /** Each try sends what is missing. @throws KinoraError `unavailable` */
  async publish(): Promise<void> {
    const { copies, key, path } = this.#options;
    await copies.adopt(key, path, await this.#finish());
    if (this.#isResumed) await this.#abortEarlier().catch(() => undefined);
  }

  onEnd(): void {
    this.#abort();
  }

  async #finish(): Promise<ObjectInfo> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#makeObject();
      } catch (error) {
        if (tries >= MAX_TRIES) throw error;
      }
    }
  }

  async #makeObject(): Promise<ObjectInfo> {
    const { objects, key, path } = this.#options;
    const upload = await this.#sendAll();
    if (upload) {
      try {
        await upload.complete();
        this.#upload = undefined;
      } catch (error) {
        // The store has other parts than it confirmed, or its response was lost.
        this.#abort();
        throw error;
      }
    } else await objects.put(key, await readFileRange(path, 0, this.#sizeBytes));
    return statStored(objects, key, this.#sizeBytes);
  }

  /** Undefined for a file that fits into one part. */
  async #sendAll(): Promise<MultipartUpload | undefined> {
    if (this.#sizeBytes > this.#partBytes * MAX_PARTS) {
      this.#abort();
      this.#partBytes = Math.ceil(this.#sizeBytes / MAX_PARTS);
    }
    if (this.#sizeBytes <= this.#partBytes && !this.#upload) return undefined;
    const upload = this.#open();
    upload.grow(this.#sizeBytes);
    await upload.sendMissing({ withLast: true });
    return upload;
  }

  #open(): MultipartUpload {
    const { objects, key, path, limit } = this.#options;
    this.#upload ??= new MultipartUpload({ objects, key, path, partBytes: this.#partBytes, limit });
    return this.#upload;
  }

  /** Of a process that was killed. What fails is left to the lifecycle rule of the bucket. */
  async #abortEarlier(): Promise<void> {
    const { objects, key } = this.#options;
    for (const upload of await objects.listParts(key))
      if (upload.key === key) await objects.abortParts(key, upload.uploadId);
  }

  #abort(): void {
    // What fails is left to the lifecycle rule of the bucket.
    this.#upload?.abort().catch(() => undefined);
    this.#upload = undefined;
  }
}
