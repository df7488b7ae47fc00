import type { Readable } from 'node:stream';
import type { Row } from '../../db/schema.js';
import { saveUploadTotal } from '../../db/tables/assets/upload.js';
import { throwIfAborted } from '../../lib/abort.js';
import { invalidParameters, isKinoraError, KinoraError } from '../../lib/errors.js';
import { isUnavailable } from '../../lib/unavailable.js';
import { completeUpload } from './complete-upload.js';
import { failUpload } from './end-upload.js';
import type { UploadLease } from './upload-leases.js';
import type { UploadContext, UploadTarget, UploadWriter } from './upload-writer.js';
import type { Place } from './writer-places.js';

interface WriterOptions {
  readonly context: UploadContext;
  readonly upload: Row<'upload'>;
  readonly place: Place;
  readonly target: UploadTarget;
  readonly lease?: UploadLease;
  /** Runs when a writer ends without completing the upload. */
  readonly afterwards: () => Promise<void>;
}

const tooLarge = (maxBytes: number) =>
  new KinoraError('payload_too_large', { messages: [`The file is larger than ${maxBytes} bytes.`] });

/** @throws KinoraError `invalid_parameters`, `payload_too_large` */
const checkTotal = ({ maxBytes }: UploadContext, totalBytes: number, known: number | undefined): void => {
  if (totalBytes === 0) throw invalidParameters('The file is empty.');
  if (totalBytes > maxBytes) throw tooLarge(maxBytes);
  if (known !== undefined && known !== totalBytes)
    throw invalidParameters(`The size of the file was ${known} bytes in an earlier request.`);
};

/** The writer of an upload whose asset exists. */
export const completeWriter = (context: UploadContext, totalBytes: number, place: Place): UploadWriter => ({
  receivedBytes: totalBytes,
  totalBytes,
  isComplete: true,
  setTotal: async (value) => checkTotal(context, value, totalBytes),
  restart: async () => {},
  write: async () => {},
  finish: async () => {},
  close: async () => place.leave(),
});

/** The writer of an upload that waits for bytes. */
export const openWriter = ({ context, upload, place, target, lease, afterwards }: WriterOptions): UploadWriter => {
  const { database, logger, clock, maxBytes } = context;
  let totalBytes = upload.total_bytes ?? undefined;
  let isComplete = false;
  let failed = false;

  const saveTotal = async (value: number | undefined): Promise<void> => {
    if (!(await saveUploadTotal(database.queryable, upload.id, value ?? null, lease?.token)))
      throw new KinoraError('upload_busy');
    totalBytes = value;
    target.setTotal(value);
  };
  /** A permanent storage failure ends the upload; lack of space, or of the database, does not. */
  const store = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await (lease ? lease.during(work) : work());
    } catch (cause) {
      if (isKinoraError(cause)) throw cause;
      if (isUnavailable(cause)) throw new KinoraError('unavailable', { cause });
      failed = true;
      logger.error({ err: cause, upload_id: upload.id }, 'upload data not stored');
      await failUpload(context, upload.id, {
        type: 'internal_error',
        message: 'The uploaded data could not be stored.',
      });
      throw new KinoraError('gone', { cause });
    }
  };

  /** Stores the new part of a body. */
  const storeBody = async (body: Readable, offsetBytes: number, endBytes: number | undefined): Promise<void> => {
    let skipBytes = target.offsetBytes - offsetBytes;
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      place.lastByteMs = clock.monotonicMs();
      lease?.touch();
      const bytes = chunk as Uint8Array;
      const fresh = bytes.subarray(Math.min(skipBytes, bytes.length));
      skipBytes -= bytes.length - fresh.length;
      if (fresh.length === 0) continue;
      const after = target.offsetBytes + fresh.length;
      if (after > (endBytes ?? totalBytes ?? after)) throw invalidParameters('The body is longer than announced.');
      if (after > maxBytes) throw tooLarge(maxBytes);
      await store(() => target.write(fresh));
    }
  };

  return {
    get receivedBytes() {
      return target.offsetBytes;
    },
    get totalBytes() {
      return totalBytes;
    },
    get isComplete() {
      return isComplete;
    },
    setTotal: async (value) => {
      checkTotal(context, value, totalBytes);
      if (value < target.offsetBytes) throw invalidParameters(`More than ${value} bytes have already been received.`);
      if (totalBytes === undefined) await saveTotal(value);
    },
    restart: async (value) => {
      if (value !== undefined) checkTotal(context, value, undefined);
      if (value !== totalBytes) await saveTotal(value);
      await store(() => target.restart());
    },
    write: async (body, { offsetBytes, endBytes }) => {
      if ((endBytes ?? 0) > maxBytes) throw tooLarge(maxBytes);
      const { signal } = place.controller;
      const stop = (): void => void body.destroy(signal.reason);
      signal.addEventListener('abort', stop);
      try {
        throwIfAborted(signal);
        await storeBody(body, offsetBytes, endBytes);
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    finish: async () => {
      place.ending = true;
      // If no size was declared, the received size is used; once it is stored, a start after a crash knows that work
      // is left.
      checkTotal(context, target.offsetBytes, totalBytes);
      if (totalBytes === undefined) await saveTotal(target.offsetBytes);
      await store(() => target.commit());
      const { status } = await completeUpload(context, upload.id);
      if (status !== 'asset_created') {
        await target.withdraw();
        throw new KinoraError('gone');
      }
      isComplete = true;
      await lease?.forget();
    },
    close: async () => {
      place.ending = true;
      try {
        await (failed ? target.discard() : store(() => target.suspend()));
        if (!isComplete) await afterwards();
      } finally {
        place.leave();
        // Without it, the next request waits until this lease is silent.
        await lease?.release();
      }
    },
  };
};
