import type { Readable } from 'node:stream';
import type { Row } from '../../db/schema.js';
import { findUploadById, saveUploadTotal } from '../../db/tables/assets/upload.js';
import { throwIfAborted } from '../../lib/abort.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { BlobStore, BlobWrite } from '../../storage/blob-store.js';
import { assetPrefix, sourceKey } from '../../storage/keys.js';
import type { Logger } from '../../telemetry/logger.js';
import type { DomainContext } from '../context.js';
import { completeUpload } from './complete-upload.js';
import { failUpload, timeOutUpload } from './end-upload.js';

/**
 * The way for the bytes of direct uploads, whatever protocol carries them:
 *
 *     const writer = await writers.open(uploadId);
 *     try {
 *       await writer.setTotal(totalBytes);                   // as soon as it is known
 *       await writer.write(body, { offsetBytes, endBytes }); // a Readable; offsetBytes <= writer.receivedBytes
 *       if (writer.receivedBytes === writer.totalBytes) await writer.finish();
 *     } finally {
 *       await writer.close();
 *     }
 *
 * Bytes go straight to the blob of the asset to come; memory is bounded, and what was stored when a request, the process or
 * the connection ended is there for the next writer.
 */
export interface UploadWriters {
  /**
   * Takes the one place of writer, always followed by `close`. A predecessor that is just ending is waited for; one that has
   * been silent for seconds (its connection was cut unnoticed) is ended.
   * @throws KinoraError `not_found`; `gone` when cancelled, timed out or errored; `upload_busy` while another one writes
   */
  open(uploadId: string): Promise<UploadWriter>;
  isOpen(uploadId: string): boolean;
  /** Ends the writer that there may be, with the bytes that it stored: the upload was cancelled. */
  abort(uploadId: string): Promise<void>;
  /** Does what the end of the time, or a crash after the last byte, left to be done. Nothing while a writer is open. */
  settle(uploadId: string): Promise<void>;
}

export interface UploadWriter {
  /** Bytes stored contiguously from the start. */
  readonly receivedBytes: number;
  /** Size of the whole file, once it is known. */
  readonly totalBytes: number | undefined;
  /** The asset exists: nothing is left to be done, `write` and `finish` do nothing. */
  readonly isComplete: boolean;
  /** @throws KinoraError `invalid_parameters` for an empty file or another size than before, `payload_too_large` */
  setTotal(totalBytes: number): Promise<void>;
  /**
   * Drops what was stored and the size that was told: another file is coming, or the same from its beginning.
   * @throws KinoraError as `setTotal`, and then drops nothing
   */
  restart(totalBytes?: number): Promise<void>;
  /**
   * Stores a body whose first byte belongs at `offsetBytes`, not beyond what was received; bytes that are there already are
   * passed over. Ends at the end of `body`, which is destroyed when the upload is cancelled meanwhile.
   * @throws KinoraError `invalid_parameters` for a body that goes past `endBytes` (exclusive), `payload_too_large`, `gone`,
   * `unavailable` when there is no room; and what `body` throws, with the bytes before it stored
   */
  write(body: Readable, range: { readonly offsetBytes: number; readonly endBytes?: number }): Promise<void>;
  /**
   * All bytes are there: makes them durable and creates the asset, in the transaction that ends the upload.
   * @throws KinoraError `gone` when the asset cannot be created from the settings any more, or the upload has ended
   */
  finish(): Promise<void>;
  close(): Promise<void>;
}

export interface UploadContext extends DomainContext {
  readonly blobs: BlobStore;
  readonly logger: Logger;
  /** The largest file that is accepted. */
  readonly maxBytes: number;
}

/** From then on a writer without a byte makes way for the next one. */
const SILENT_MS = 3000;

interface Place {
  readonly controller: AbortController;
  readonly closed: Promise<void>;
  readonly leave: () => void;
  lastByteMs: number;
  ending: boolean;
}

const gone = (): KinoraError => new KinoraError('gone');

export const createUploadWriters = (context: UploadContext): UploadWriters => {
  const { blobs, clock, database, logger } = context;
  const db = database.queryable;
  const places = new Map<string, Place>();

  const takePlace = async (uploadId: string): Promise<Place> => {
    for (;;) {
      const other = places.get(uploadId);
      if (!other) break;
      if (clock.monotonicMs() - other.lastByteMs > SILENT_MS) other.controller.abort(new KinoraError('upload_busy'));
      else if (!other.ending) throw new KinoraError('upload_busy');
      await other.closed;
    }
    let leave!: () => void;
    const closed = new Promise<void>((resolve) => {
      leave = () => {
        places.delete(uploadId);
        resolve();
      };
    });
    const place = { controller: new AbortController(), closed, leave, lastByteMs: clock.monotonicMs(), ending: false };
    places.set(uploadId, place);
    return place;
  };

  const open = async (uploadId: string): Promise<UploadWriter> => {
    const place = await takePlace(uploadId);
    try {
      let upload = await findUploadById(db, uploadId);
      if (!upload) throw new KinoraError('not_found');
      upload = await settleWaiting(upload);
      if (upload.status === 'asset_created') return completeWriter(upload, place);
      if (upload.status !== 'waiting') throw gone();
      const target = await blobs.resumeWrite(sourceKey(upload.target_asset_id));
      return await openWriter(upload, place, target);
    } catch (error) {
      place.leave();
      throw error;
    }
  };

  /** The upload as it is once what a crash or the end of its time left to be done is done. */
  const settleWaiting = async (upload: Row<'upload'>): Promise<Row<'upload'>> => {
    if (upload.status !== 'waiting') return upload;
    if (await blobs.stat(sourceKey(upload.target_asset_id))) return completeUpload(context, upload.id);
    if (upload.expires_at > clock.now()) return upload;
    return timeOutUpload(context, upload.id);
  };

  const completeWriter = (upload: Row<'upload'>, place: Place): UploadWriter => ({
    receivedBytes: upload.total_bytes!,
    totalBytes: upload.total_bytes!,
    isComplete: true,
    setTotal: async (totalBytes) => checkTotal(totalBytes, upload.total_bytes!),
    restart: async () => {},
    write: async () => {},
    finish: async () => {},
    close: async () => place.leave(),
  });

  const checkTotal = (totalBytes: number, known: number | undefined): void => {
    const invalid = (message: string) => new KinoraError('invalid_parameters', { messages: [message] });
    if (totalBytes === 0) throw invalid('The file is empty.');
    if (totalBytes > context.maxBytes) throw tooLarge();
    if (known !== undefined && known !== totalBytes)
      throw invalid(`The size of the file was ${known} bytes in an earlier request.`);
  };

  const tooLarge = () =>
    new KinoraError('payload_too_large', { messages: [`The file is larger than ${context.maxBytes} bytes.`] });

  const openWriter = async (upload: Row<'upload'>, place: Place, target: BlobWrite): Promise<UploadWriter> => {
    const { signal } = place.controller;
    let totalBytes = upload.total_bytes ?? undefined;
    let isComplete = false;
    let failed = false;

    const saveTotal = async (value: number | undefined): Promise<void> => {
      await saveUploadTotal(db, upload.id, value ?? null);
      totalBytes = value;
    };
    /** Storage that fails for good ends the upload; lack of room does not. */
    const store = async (work: () => Promise<unknown>): Promise<void> => {
      try {
        await work();
      } catch (cause) {
        if (isKinoraError(cause)) throw cause;
        failed = true;
        logger.error({ err: cause, upload_id: upload.id }, 'the bytes of an upload could not be stored');
        await failUpload(context, upload.id, {
          type: 'internal_error',
          message: 'The uploaded data could not be stored.',
        });
        throw new KinoraError('gone', { cause });
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
        checkTotal(value, totalBytes);
        if (value < target.offsetBytes)
          throw new KinoraError('invalid_parameters', {
            messages: [`More than ${value} bytes were received already.`],
          });
        if (totalBytes === undefined) await saveTotal(value);
      },
      restart: async (value) => {
        if (value !== undefined) checkTotal(value, undefined);
        if (value !== totalBytes) await saveTotal(value);
        await store(() => target.restart());
      },
      write: async (body, { offsetBytes, endBytes }) => {
        if ((endBytes ?? 0) > context.maxBytes) throw tooLarge();
        let skipBytes = target.offsetBytes - offsetBytes;
        const stop = (): void => void body.destroy(signal.reason);
        signal.addEventListener('abort', stop);
        try {
          throwIfAborted(signal);
          for await (const chunk of body.iterator({ destroyOnReturn: false })) {
            place.lastByteMs = clock.monotonicMs();
            const bytes = chunk as Uint8Array;
            const fresh = bytes.subarray(Math.min(skipBytes, bytes.length));
            skipBytes -= bytes.length - fresh.length;
            if (fresh.length === 0) continue;
            const after = target.offsetBytes + fresh.length;
            if (after > (endBytes ?? totalBytes ?? after))
              throw new KinoraError('invalid_parameters', { messages: ['The body is longer than was announced.'] });
            if (after > context.maxBytes) throw tooLarge();
            await store(() => target.write(fresh));
          }
        } catch (error) {
          throw signal.aborted ? signal.reason : error;
        } finally {
          signal.removeEventListener('abort', stop);
        }
      },
      finish: async () => {
        place.ending = true;
        // A size that nobody told is what has come; with it a start after a crash knows that there is something to do.
        checkTotal(target.offsetBytes, totalBytes);
        if (totalBytes === undefined) await saveTotal(target.offsetBytes);
        await store(() => target.commit());
        const { status } = await completeUpload(context, upload.id);
        if (status !== 'asset_created') throw gone();
        isComplete = true;
      },
      close: async () => {
        place.ending = true;
        try {
          await (failed ? target.discard() : store(() => target.suspend()));
          if (!isComplete) await afterwards(upload.id);
        } finally {
          place.leave();
        }
      },
    };
  };

  /** A transfer may outlast the time of its upload; what comes of it is decided at its end. */
  const afterwards = async (uploadId: string): Promise<void> => {
    const upload = await findUploadById(db, uploadId);
    const { status } = upload ? await settleWaiting(upload) : { status: 'cancelled' as const };
    // The purge that followed the end of the upload may have run while this writer still stored bytes.
    if (upload && status !== 'waiting' && status !== 'asset_created')
      await blobs.deletePrefix(assetPrefix(upload.target_asset_id));
  };

  return {
    open,
    isOpen: (uploadId) => places.has(uploadId),
    abort: async (uploadId) => {
      const place = places.get(uploadId);
      place?.controller.abort(gone());
      await place?.closed;
    },
    settle: async (uploadId) => {
      if (places.has(uploadId)) return;
      const place = await takePlace(uploadId);
      // It is done in a moment: a sender that comes meanwhile waits.
      place.ending = true;
      try {
        const upload = await findUploadById(db, uploadId);
        if (upload) await settleWaiting(upload);
      } finally {
        place.leave();
      }
    },
  };
};
