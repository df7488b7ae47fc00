/**
 * What writes leave in the bucket, and what remains of them after `kill -9`
 *
 * An unfinished write of the blob `key` makes:
 *
 * 1. One multipart upload under `key`. Its parts are invisible until it is completed, and have
 *    equal size but for the last one: some stores demand that. Part `n` has the bytes from
 *    `n * partBytes`.
 * 2. Only in a shared write, which any server continues (`shared-parts.ts`): objects under
 *    `key-tails/`, the last bytes of requests, which do not fill a part. Each is written once.
 *
 * A file of one writer that fits into one part is one PUT, without an upload.
 *
 * | Killed …                       | One writer (`file-upload.ts`)      | Shared write (`shared-parts.ts`)  |
 * |---|---|---|
 * | while parts are sent           | The upload remains. The local file | The upload, recorded parts and    |
 * |                                | is sent again in a new upload.     | tails remain and are continued.   |
 * | after a part, before its       | There is no record.                | The part is sent again under a    |
 * | record                         |                                    | number that no lease has used.    |
 * | after a tail, before its       | There are no tails.                | The tail remains until the write  |
 * | record                         |                                    | ends.                             |
 * | after the completion, before   | The object is there, and the local | The object is there; the next     |
 * | the end of the write           | file is sent again and replaces it.| lease finds it with its size.     |
 * | after the end, before cleaning | Nothing remains.                   | Tails remain until the sweep.     |
 *
 * What remains of an upload is removed with its asset (`deletePrefix`), at the end of the write
 * that continues it (`FileUpload`, `discardShared`), or by the lifecycle rule that
 * docs/operating/storage.md demands of the bucket.
 */
import type { LimitFunction } from 'p-limit';
import { KinoraError } from '../../lib/errors.js';
import { readFileRange } from '../disk/read-file-range.js';
import type { ObjectClient, ObjectInfo, UploadedPart } from './object-client.js';

/** Parts of equal size, which some stores demand; they all demand at least 5 MiB. */
export const PART_BYTES = 16 * 2 ** 20;
export const MAX_PARTS = 10_000;
/** The reason when the object has another size than the file. */
export const OTHER_SIZE = 'stored with another size';

export interface MultipartUploadOptions {
  readonly objects: ObjectClient;
  readonly key: string;
  /** The file, which grows: has its bytes at their positions, at least those after `stored`. */
  readonly path: string;
  readonly partBytes: number;
  /** Shared by all uploads: each part in flight takes its size in memory. */
  readonly limit: LimitFunction;
  /** An upload that is continued: its stored parts, and the number of the part that follows. */
  readonly stored?: {
    readonly uploadId: string | null;
    readonly parts: readonly UploadedPart[];
    readonly nextNumber: number;
  };
  /** Called before a part is sent. */
  readonly onPart?: (number: number) => Promise<void>;
  /** Called when `parts` has grown. */
  readonly onStored?: () => void;
}

/** Sends one file in parts while it grows. Restarted files need another instance. */
export class MultipartUpload {
  readonly partBytes: number;
  readonly #options: MultipartUploadOptions;
  #uploadId: string | null;
  #starting: Promise<string> | undefined;
  /** Whole parts from the start of the file. */
  #parts: readonly UploadedPart[];
  /** The part with index `n` has the number `n + shift`. */
  #shift: number;
  /** By index. */
  readonly #sending = new Map<number, Promise<void>>();
  /** Sent, but not in `parts`: after a missing one, or shorter than a whole one. */
  readonly #sent = new Map<number, UploadedPart>();
  /** Parts with a lower index were sent as soon as they were whole. */
  #started: number;
  /** Parts whose bytes have been replaced since they were sent. */
  readonly #stale = new Set<number>();
  #sizeBytes = 0;
  #isGivenUp = false;

  constructor(options: MultipartUploadOptions) {
    const { uploadId, parts, nextNumber } = options.stored ?? { uploadId: null, parts: [], nextNumber: 1 };
    this.#options = options;
    this.partBytes = options.partBytes;
    this.#uploadId = uploadId;
    this.#parts = parts;
    this.#shift = nextNumber - parts.length;
    this.#started = parts.length;
  }

  /** Null before the first part. */
  get uploadId(): string | null {
    return this.#uploadId;
  }

  /** The whole parts from the start of the file that are stored. */
  get parts(): readonly UploadedPart[] {
    return this.#parts;
  }

  /** The number of the last part of `parts`, or the one before the first part. */
  get lastNumber(): number {
    return this.#parts.length - 1 + this.#shift;
  }

  /** The number of the part that follows on `parts`. Nothing may be under way. */
  renumber(nextNumber: number): void {
    this.#shift = nextNumber - this.#parts.length;
  }

  /** Makes sure that the store knows the upload. */
  start(): Promise<string> {
    if (this.#uploadId !== null) return Promise.resolve(this.#uploadId);
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** The file has this many bytes now. Whole parts are sent. */
  grow(sizeBytes: number): void {
    this.#forgetShortPart();
    this.#sizeBytes = sizeBytes;
    const whole = Math.min(this.#wholeParts(), MAX_PARTS);
    for (; this.#started < whole; this.#started += 1) this.#send(this.#started);
  }

  /** The byte of the file at `offset` is another one now. Its part is sent again at the end. */
  replaced(offset: number): void {
    const index = Math.floor(offset / this.partBytes);
    if (index < this.#started) this.#stale.add(index);
    this.#forgetShortPart();
  }

  /**
   * Sends what is missing: the whole parts, or the last one too.
   * @throws the first failure
   */
  async sendMissing({ withLast }: { readonly withLast: boolean }): Promise<void> {
    const count = withLast ? Math.ceil(this.#sizeBytes / this.partBytes) : this.#wholeParts();
    for (let index = this.#parts.length; index < count; index += 1)
      if (!this.#sending.has(index) && !this.#sent.has(index)) this.#send(index);
    this.#started = Math.max(this.#started, this.#wholeParts());
    const failed = (await Promise.allSettled(this.#sending.values())).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    if (withLast) await this.#sendStale();
  }

  /** Makes the object. All parts must be sent. */
  async complete(): Promise<void> {
    const last = this.#sent.get(this.#parts.length);
    try {
      await this.#options.objects.completeParts(this.#options.key, this.#uploadId!, [
        ...this.#parts,
        ...(last ? [last] : []),
      ]);
    } catch (error) {
      this.#forgetShortPart();
      throw error;
    }
  }

  /** Sends nothing more, and waits for what is under way: it would be stored after the end. */
  async giveUp(): Promise<void> {
    this.#isGivenUp = true;
    await this.settled();
    await this.#starting?.catch(() => undefined);
  }

  /** Waits for the requests under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#sending.values());
  }

  /** Removes the upload and its parts from the store. */
  async abort(): Promise<void> {
    await this.giveUp();
    if (this.#uploadId !== null) await this.#options.objects.abortParts(this.#options.key, this.#uploadId);
  }

  async #start(): Promise<string> {
    try {
      this.#uploadId = await this.#options.objects.beginParts(this.#options.key);
      return this.#uploadId;
    } finally {
      // After a failure, the next part tries it again.
      this.#starting = undefined;
    }
  }

  async #sendStale(): Promise<void> {
    for (const index of this.#stale) {
      const part = await this.#options.limit(() => this.#put(index));
      this.#parts = this.#parts.with(index, part);
      this.#stale.delete(index);
    }
  }

  #wholeParts(): number {
    return Math.floor(this.#sizeBytes / this.partBytes);
  }

  #send(index: number): void {
    const sending = this.#options.limit(async () => {
      if (this.#isGivenUp) return;
      const part = await this.#put(index);
      this.#sent.set(index, part);
    });
    this.#sending.set(index, sending);
    sending.then(
      () => {
        this.#sending.delete(index);
        if (this.#advance() && !this.#isGivenUp) this.#options.onStored?.();
      },
      // `sendMissing` sends it again.
      () => this.#sending.delete(index),
    );
  }

  async #put(index: number): Promise<UploadedPart> {
    const { objects, key, path, onPart } = this.#options;
    const number = index + this.#shift;
    const uploadId = await this.start();
    await onPart?.(number);
    const start = index * this.partBytes;
    const bytes = await readFileRange(path, start, Math.min(this.partBytes, this.#sizeBytes - start));
    return objects.putPart(key, uploadId, number, bytes);
  }

  /** Moves the sent parts that follow on `parts` to them; returns whether there are any. */
  #advance(): boolean {
    const before = this.#parts.length;
    for (let part = this.#sent.get(before); part; part = this.#sent.get(this.#parts.length)) {
      if (this.#parts.length >= this.#wholeParts()) break;
      this.#sent.delete(this.#parts.length);
      this.#parts = [...this.#parts, part];
    }
    return this.#parts.length > before;
  }

  /** The last part is sent again: the file may grow after all, or the store may have lost it. */
  #forgetShortPart(): void {
    this.#sent.delete(this.#wholeParts());
  }
}

/** The stored object. @throws KinoraError `unavailable` when it has another size than the file */
export const statStored = async (objects: ObjectClient, key: string, sizeBytes: number): Promise<ObjectInfo> => {
  const info = await objects.stat(key);
  if (info?.sizeBytes === sizeBytes) return info;
  throw new KinoraError('unavailable', {
    details: { stage: 's3', key, reason: OTHER_SIZE, stored: info?.sizeBytes, expected: sizeBytes },
  });
};
