import type { Readable } from 'node:stream';
import type { Row } from '../db/schema.js';
import { saveUploadTotal } from '../db/tables/assets/upload.js';
import type { DomainContext } from '../domain/context.js';
import { throwIfAborted } from '../lib/abort.js';
import { invalidParameters, isKinoraError, KinoraError } from '../lib/errors.js';
import { asUnavailable } from '../lib/unavailable.js';
import type { Logger } from '../telemetry/logger.js';
import { completeUpload } from './complete-upload.js';
import { failUpload } from './end-upload.js';
import type { UploadFile } from './upload-files.js';
import type { UploadLease } from './upload-leases.js';
import type { UploadSlot } from './upload-slots.js';

export interface SessionContext {
  readonly context: DomainContext;
  readonly logger: Logger;
  /** The largest file that is accepted. */
  readonly maxBytes: number;
}

interface SessionOptions {
  readonly upload: Row<'upload'>;
  readonly slot: UploadSlot;
  /** Absent when the asset exists. */
  readonly file: UploadFile | undefined;
  readonly lease: UploadLease | undefined;
  /** Runs when a session ends without completing the upload. */
  readonly onIncomplete: () => Promise<void>;
}

/** Where the bytes of a body belong in the file. */
export interface BodyRange {
  readonly offsetBytes: number;
  /** Exclusive; absent when the end of the body decides. */
  readonly endBytes?: number | undefined;
}

/**
 * One request that sends bytes of an upload: knows the position in the file and the limits, and has
 * the lease. When the asset exists, `append`, `startOver` and `complete` do nothing.
 */
export class UploadSession {
  private total: number | undefined;
  private hasCompleted = false;
  private hasFailed = false;

  constructor(
    private readonly sessions: SessionContext,
    private readonly options: SessionOptions,
  ) {
    this.total = options.upload.total_bytes ?? undefined;
  }

  /** Bytes stored contiguously from the start. */
  get receivedBytes(): number {
    return this.options.file?.write.offsetBytes ?? this.total!;
  }

  /** Size of the whole file, once it is known. */
  get totalBytes(): number | undefined {
    return this.total;
  }

  /** The asset exists. */
  get isComplete(): boolean {
    return this.hasCompleted || !this.options.file;
  }

  /**
   * @throws KinoraError `invalid_parameters` for an empty file or another size than before,
   * `payload_too_large`
   */
  async declareSize(totalBytes: number): Promise<void> {
    this.checkSize(totalBytes, this.total);
    if (totalBytes < this.receivedBytes)
      throw invalidParameters(`More than ${totalBytes} bytes have already been received.`);
    if (this.total === undefined) await this.saveTotal(totalBytes);
  }

  /**
   * Drops the stored bytes and the declared size: another file follows, or the same one from its
   * beginning.
   * @throws KinoraError as `declareSize`, and then drops nothing
   */
  async startOver(totalBytes?: number): Promise<void> {
    const { file } = this.options;
    if (!file) return;
    if (totalBytes !== undefined) this.checkSize(totalBytes, undefined);
    if (totalBytes !== this.total) await this.saveTotal(totalBytes);
    await this.store(() => file.startOver());
  }

  /**
   * Stores a body whose first byte belongs at `offsetBytes`, which must not be beyond the received
   * bytes; skips bytes that are already stored. Ends at the end of `body`, which is destroyed if
   * the upload is cancelled.
   * @throws KinoraError `invalid_parameters` for a body that exceeds `endBytes`,
   * `payload_too_large`, `gone`, `unavailable` when there is no space; and what `body` throws, with
   * the bytes before it stored
   */
  async append(body: Readable, { offsetBytes, endBytes }: BodyRange): Promise<void> {
    const { file, slot } = this.options;
    if (!file) return;
    if ((endBytes ?? 0) > this.sessions.maxBytes) throw this.tooLarge();
    const { signal } = slot;
    const stop = (): void => void body.destroy(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      throwIfAborted(signal);
      await this.storeBody(file, body, offsetBytes, endBytes);
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /**
   * Called when all bytes have arrived: makes them durable and creates the asset, in the
   * transaction that ends the upload.
   * @throws KinoraError `gone` when the asset can't be created from the settings any more, or the
   * upload has ended
   */
  async complete(): Promise<void> {
    const { file, slot, lease, upload } = this.options;
    if (!file) return;
    slot.isEnding = true;
    // If no size was declared, the received size is used; once it is stored, a start after a crash
    // knows that work is left.
    this.checkSize(this.receivedBytes, this.total);
    if (this.total === undefined) await this.saveTotal(this.receivedBytes);
    await this.store(() => file.playback.commit());
    const { status } = await completeUpload(this.sessions.context, upload.id);
    if (status !== 'asset_created') {
      await file.playback.withdraw();
      throw new KinoraError('gone');
    }
    this.hasCompleted = true;
    await lease?.forget();
  }

  /** Ends the request. What was received of an incomplete file is kept for the next one. */
  async close(): Promise<void> {
    const { file, slot, lease, onIncomplete } = this.options;
    slot.isEnding = true;
    try {
      if (!file) return;
      await (this.hasFailed ? file.discard() : this.store(() => file.pause()));
      if (!this.hasCompleted) await onIncomplete();
    } finally {
      slot.leave();
      // Without it, the next request waits until this lease is silent.
      await lease?.release();
    }
  }

  /** Stores the new part of a body. */
  private async storeBody(
    file: UploadFile,
    body: Readable,
    offsetBytes: number,
    endBytes: number | undefined,
  ): Promise<void> {
    const { write, playback } = file;
    const { slot, lease } = this.options;
    let skipBytes = write.offsetBytes - offsetBytes;
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      slot.touch();
      lease?.touch();
      const bytes = chunk as Uint8Array;
      const fresh = bytes.subarray(Math.min(skipBytes, bytes.length));
      skipBytes -= bytes.length - fresh.length;
      if (fresh.length === 0) continue;
      const after = write.offsetBytes + fresh.length;
      if (after > (endBytes ?? this.total ?? after)) throw invalidParameters('The body is longer than announced.');
      if (after > this.sessions.maxBytes) throw this.tooLarge();
      await this.store(async () => {
        await write.write(fresh);
        await playback.received();
      });
    }
  }

  /** A permanent storage failure ends the upload; lack of space, or of the database, does not. */
  private async store(task: () => Promise<unknown>): Promise<void> {
    const { lease, upload } = this.options;
    try {
      await (lease ? lease.during(task) : task());
    } catch (cause) {
      const unavailable = asUnavailable(cause);
      if (isKinoraError(unavailable)) throw unavailable;
      this.hasFailed = true;
      this.sessions.logger.error({ err: cause, upload_id: upload.id }, 'upload data not stored');
      await failUpload(this.sessions.context, upload.id, {
        type: 'internal_error',
        message: 'The uploaded data could not be stored.',
      });
      throw new KinoraError('gone', { cause });
    }
  }

  private async saveTotal(totalBytes: number | undefined): Promise<void> {
    const { upload, lease, file } = this.options;
    const db = this.sessions.context.database.queryable;
    if (!(await saveUploadTotal(db, upload.id, totalBytes ?? null, lease?.token))) throw new KinoraError('upload_busy');
    this.total = totalBytes;
    file?.playback.declareSize(totalBytes);
  }

  private checkSize(totalBytes: number, knownBytes: number | undefined): void {
    if (totalBytes === 0) throw invalidParameters('The file is empty.');
    if (totalBytes > this.sessions.maxBytes) throw this.tooLarge();
    if (knownBytes !== undefined && knownBytes !== totalBytes)
      throw invalidParameters(`The size of the file was ${knownBytes} bytes in an earlier request.`);
  }

  private tooLarge(): KinoraError {
    return new KinoraError('payload_too_large', {
      messages: [`The file is larger than ${this.sessions.maxBytes} bytes.`],
    });
  }
}
