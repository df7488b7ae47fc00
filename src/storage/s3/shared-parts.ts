import type { LimitFunction } from 'p-limit';
import { isKinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import { createInTurn } from '../../lib/in-turn.js';
import type { SharedState, WriteJournal } from '../blob-store.js';
import { readFileRange } from '../disk/read-file-range.js';
import { tailsPrefix } from '../keys.js';
import { MultipartUpload, type MultipartUploadOptions, OTHER_SIZE, statStored } from './multipart-upload.js';
import type { ObjectClient, ObjectInfo } from './object-client.js';

interface SharedPartsOptions {
  readonly objects: ObjectClient;
  readonly key: string;
  /**
   * The local file: has the bytes of the file at their positions, at least those after the recorded
   * parts.
   */
  readonly path: string;
  /** Of a write that has no parts yet. */
  readonly partBytes: number;
  /** Shared by all writes: each request in flight takes up to the size of a part in memory. */
  readonly limit: LimitFunction;
  readonly journal: WriteJournal;
}

/** From here on, tails are merged. */
const MAX_TAILS = 8;
/** One change of the database reserves several part numbers. */
const RESERVED_AT_ONCE = 8;
/** Statuses of rejections that say nothing about the parts: credentials, time limits, load. */
const UNRELATED = [401, 403, 408, 429];

/** Whether `complete` failed because the store no longer has the parts as they were sent. */
export const lacksParts = (error: unknown): boolean => {
  if (!isKinoraError(error, 'unavailable')) return false;
  const { status, reason } = error.details ?? {};
  if (reason === OTHER_SIZE) return true;
  return typeof status === 'number' && status >= 400 && status < 500 && !UNRELATED.includes(status);
};

/**
 * The bytes of a shared write in the store: a multipart upload and tails, which are write-once
 * objects with what does not fill a part when a request ends. A part replaces the tails that it
 * contains.
 *
 * A server that has lost its lease may still send parts. It can't harm: each lease uses higher part
 * numbers than all leases before, and the object is completed from the recorded numbers.
 */
export class SharedParts {
  readonly #options: SharedPartsOptions;
  #journal: WriteJournal;
  #upload: MultipartUpload;
  #tails: SharedState['tails'];
  /** Higher part numbers have never been used. */
  #reservedParts: number;
  #savedBy: string | null;
  /** Of the local file. */
  #sizeBytes = 0;
  /** Replaced by a part or another tail since the last `save`. */
  #unusedTails: string[] = [];
  #isSaving = false;
  readonly #inTurn = createInTurn();

  constructor(options: SharedPartsOptions) {
    const { multipartId, parts, partBytes, tails, reservedParts, savedBy } = options.journal.state;
    this.#options = options;
    this.#journal = options.journal;
    this.#tails = tails;
    this.#reservedParts = reservedParts;
    this.#savedBy = savedBy;
    const stored = { uploadId: multipartId, parts, nextNumber: reservedParts + 1 };
    this.#upload = this.#newUpload(partBytes ?? options.partBytes, stored);
  }

  /** The token of the lease that saved the record. */
  get savedBy(): string | null {
    return this.#savedBy;
  }

  /** The local file has this many bytes. Whole parts are sent. */
  grow(sizeBytes: number): void {
    this.#sizeBytes = sizeBytes;
    this.#upload.grow(sizeBytes);
  }

  /** @throws KinoraError `unavailable`, `upload_busy`; what could be stored is recorded */
  async record(): Promise<void> {
    const before = this.#receivedBytes();
    try {
      await this.#upload.sendMissing({ withLast: false });
      await this.#putTail();
      // Nothing is under way: the numbers after the last part are free again.
      this.#reservedParts = this.#upload.lastNumber;
    } finally {
      if (this.#receivedBytes() !== before || this.#isSaving) await this.#inTurn(() => this.#save());
    }
  }

  /**
   * Makes the object of all bytes.
   * @throws KinoraError as `record`; `lacksParts` tells a lasting failure
   */
  async complete(): Promise<ObjectInfo> {
    const { objects, key } = this.#options;
    await this.#upload.sendMissing({ withLast: true });
    // Another server may have taken over.
    await this.#inTurn(() => this.#save());
    try {
      await this.#upload.complete();
    } catch (error) {
      // Its response may have been lost.
      if ((await objects.stat(key))?.sizeBytes !== this.#sizeBytes) throw error;
    }
    return statStored(objects, key, this.#sizeBytes);
  }

  /** Forgets everything: another file follows. */
  async restart(): Promise<void> {
    const old = this.#upload;
    await old.giveUp();
    await this.settled();
    this.#dropTails();
    this.#reservedParts = 0;
    this.#sizeBytes = 0;
    this.#upload = this.#newUpload(old.partBytes);
    await this.#inTurn(() => this.#save());
    // Now no other server can complete the old file.
    await old.abort();
  }

  /** Waits for the requests under way. */
  async settled(): Promise<void> {
    await this.#upload.settled();
    await this.#inTurn(async () => undefined);
  }

  /** Returns false when another server has continued. */
  continueWith(next: WriteJournal): boolean {
    if (next.state.savedBy !== this.#savedBy || next.state.receivedBytes !== this.#sizeBytes) return false;
    this.#journal = next;
    this.#reservedParts = next.state.reservedParts;
    this.#upload.renumber(this.#reservedParts + 1);
    return true;
  }

  #newUpload(partBytes: number, stored?: MultipartUploadOptions['stored']): MultipartUpload {
    const { objects, key, path, limit } = this.#options;
    return new MultipartUpload({
      ...{ objects, key, path, limit, partBytes, stored },
      onPart: (number) => this.#reserve(number),
      onStored: () => {
        this.#dropTails();
        this.#saveSoon();
      },
    });
  }

  /** Another server must know of the upload and the number before a part exists. */
  #reserve(number: number): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#reservedParts;
      if (number <= before) return;
      this.#reservedParts = number + RESERVED_AT_ONCE - 1;
      try {
        await this.#save();
      } catch (error) {
        this.#reservedParts = before;
        throw error;
      }
    });
  }

  #dropTails(): void {
    this.#unusedTails.push(...this.#tails.map((tail) => tail.key));
    this.#tails = [];
  }

  async #putTail(): Promise<void> {
    const { objects, key, path, limit } = this.#options;
    let start = this.#receivedBytes();
    if (start >= this.#sizeBytes) return;
    const tails = [...this.#tails];
    const merged: string[] = [];
    // Larger ones are kept, so that small requests don't send the same bytes again and again.
    if (tails.length >= MAX_TAILS)
      for (let last = tails.at(-1); last && last.bytes <= this.#sizeBytes - start; last = tails.at(-1)) {
        start -= last.bytes;
        merged.push(last.key);
        tails.pop();
      }
    const tail = { key: `${tailsPrefix(key)}/${newId()}`, bytes: this.#sizeBytes - start };
    await limit(async () => objects.put(tail.key, await readFileRange(path, start, tail.bytes)));
    this.#tails = [...tails, tail];
    this.#unusedTails.push(...merged);
  }

  /** So that a killed server loses little. */
  #saveSoon(): void {
    if (this.#isSaving) return;
    this.#isSaving = true;
    this.#inTurn(async () => {
      this.#isSaving = false;
      await this.#save();
    }).catch(() => undefined);
  }

  async #save(): Promise<void> {
    const { objects, limit } = this.#options;
    const obsolete = this.#unusedTails;
    this.#unusedTails = [];
    await this.#journal.save({
      multipartId: this.#upload.uploadId,
      partBytes: this.#upload.partBytes,
      parts: this.#upload.parts,
      tails: this.#tails,
      reservedParts: this.#reservedParts,
      receivedBytes: this.#receivedBytes(),
    });
    this.#savedBy = this.#journal.token;
    // What fails is left to the end of the write.
    for (const tail of obsolete) limit(() => objects.delete(tail)).catch(() => undefined);
  }

  #receivedBytes(): number {
    const { parts, partBytes } = this.#upload;
    return parts.length * partBytes + this.#tails.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
