import type { Readable } from 'node:stream';
import type { Row } from '../../db/schema.js';
import type { BlobStore, BlobWrite } from '../../storage/blob-store.js';
import type { Logger } from '../../telemetry/logger.js';
import type { DomainContext } from '../context.js';
import type { UploadLease, UploadLeases } from './upload-leases.js';

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
   * Opens the upload's only writer; `close` must always follow. Waits for a previous writer that is ending, and ends
   * one that has been silent for seconds (its connection was lost unnoticed).
   * @throws KinoraError `not_found`; `gone` when cancelled, timed out or errored; `upload_busy` while another one
   * writes
   */
  open(uploadId: string): Promise<UploadWriter>;
  /** Whether this server or another one has a writer. */
  isOpen(uploadId: string): Promise<boolean>;
  /** Ends the current writer, if any, on whatever server; this one's bytes are removed: the upload was cancelled. */
  abort(uploadId: string): Promise<void>;
  /** Another server goes on, or the upload has ended there: removes what this one keeps of it. */
  letGo(uploadId: string): Promise<void>;
  /** Finishes what the expiry, or a crash after the last byte, left undone. Does nothing while a writer is open. */
  settle(uploadId: string): Promise<void>;
}

export interface UploadWriter {
  /** Bytes stored contiguously from the start. */
  readonly receivedBytes: number;
  /** Size of the whole file, once it is known. */
  readonly totalBytes: number | undefined;
  /** The asset exists: `write` and `finish` do nothing. */
  readonly isComplete: boolean;
  /** @throws KinoraError `invalid_parameters` for an empty file or another size than before, `payload_too_large` */
  setTotal(totalBytes: number): Promise<void>;
  /**
   * Drops the stored bytes and the declared size: another file follows, or the same one from its beginning.
   * @throws KinoraError as `setTotal`, and then drops nothing
   */
  restart(totalBytes?: number): Promise<void>;
  /**
   * Stores a body whose first byte belongs at `offsetBytes`, which must not be beyond the received bytes; skips bytes
   * that are already stored. Ends at the end of `body`, which is destroyed if the upload is cancelled.
   * @throws KinoraError `invalid_parameters` for a body that exceeds `endBytes` (exclusive), `payload_too_large`,
   * `gone`, `unavailable` when there is no space; and what `body` throws, with the bytes before it stored
   */
  write(body: Readable, range: { readonly offsetBytes: number; readonly endBytes?: number }): Promise<void>;
  /**
   * Called when all bytes have arrived: makes them durable and creates the asset, in the transaction that ends the
   * upload.
   * @throws KinoraError `gone` when the asset can't be created from the settings any more, or the upload has ended
   */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** Where the bytes of one upload are written. */
export interface UploadTarget extends Omit<BlobWrite, 'stage' | 'sync' | 'settle' | 'read'> {
  /** Undefined while the size of the file is unknown. */
  setTotal(totalBytes: number | undefined): void;
  /** Ends early playback after `commit`: the asset can't be created. */
  withdraw(): Promise<void>;
}

/** Opens the targets of uploads. An upload that plays before it is complete keeps its target between requests. */
export interface UploadTargets {
  /** `lease` is present where uploads have leases. */
  open(upload: Row<'upload'>, lease?: UploadLease): Promise<UploadTarget>;
  /** The upload has ended without an asset: nothing of it can be played any more. Removes what a kept target stored. */
  drop(uploadId: string): Promise<void>;
  /** Suspends the kept targets: the server stops. */
  stop(): Promise<void>;
}

export interface UploadContext extends DomainContext {
  readonly blobs: BlobStore;
  readonly targets: UploadTargets;
  /** Absent where only this server can receive uploads. */
  readonly leases?: UploadLeases;
  readonly logger: Logger;
  /** The largest file that is accepted. */
  readonly maxBytes: number;
}
