import type { Readable } from 'node:stream';
import type { BlobStore } from '../../storage/blob-store.js';
import type { Logger } from '../../telemetry/logger.js';
import type { DomainContext } from '../context.js';

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
