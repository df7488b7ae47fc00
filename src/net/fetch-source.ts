import { KinoraError } from '../lib/errors.js';
import type { BlobInfo, BlobWrite, RangeOrigin } from '../storage/blob-store.js';

/**
 * A restricted, resumable download of a source file. A contract: `jobs` may not import the client.
 */
export interface SourceFetcher {
  /**
   * Streams `url` into `target` and commits it; continues after `target.offsetBytes` when the
   * origin allows it. On failure `target` is suspended, or discarded when the input is refused.
   * Credentials in the URL are used, never logged.
   * @throws KinoraError `invalid_input` with the exact message of the reference (HTTP status,
   * refused address, web page, damaged compression, empty, too large), `source_unreachable` after
   * retries, `cancelled`
   */
  fetch(url: string, target: BlobWrite, options: FetchOptions): Promise<BlobInfo>;
}

/** A remote file that can be read in parts. */
export interface RemoteFile extends RangeOrigin {
  /** Identifies this version of the file; see `FetchOptions.validator`. */
  readonly validator: string;
}

export interface FetchOptions {
  readonly signal?: AbortSignal;
  /** A lower limit than the general one for sources. */
  readonly maxBytes?: number;
  /**
   * The value passed to `onValidator` when the bytes before `target.offsetBytes` were stored.
   * Without it, a download starts again at zero: the remote file may have changed, and parts of
   * different versions must never be joined.
   */
  readonly validator?: string;
  /**
   * Called once, before the first byte of the body is read, if the origin supports ranges and
   * identifies the file's version. May return another write to continue with; nothing is stored
   * until it settles.
   */
  readonly onRanges?: (remote: RemoteFile) => Promise<BlobWrite | undefined>;
  /** Called once instead of `onRanges`, with the reason. */
  readonly onNoRanges?: (reason: string) => Promise<void>;
  /**
   * Called before the first byte of a file version is stored; undefined if the origin provides no
   * strong validator.
   */
  readonly onValidator?: (validator: string | undefined) => void | Promise<void>;
  /** Called when the whole file has been received, before it is made durable. */
  readonly onReceived?: () => void;
  /**
   * `totalBytes` is absent when the origin does not declare it. Called at most a few times per
   * second.
   */
  readonly onProgress?: (receivedBytes: number, totalBytes: number | undefined) => void;
}

/** `details.reason` of the error for a web page in place of a file. */
export const WEB_PAGE = 'web page';

const readableSize = (bytes: number): string => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`;
};

/** @throws KinoraError `invalid_input` when a source is larger than the limit */
export const checkSize = (limitBytes: number, bytes: number): void => {
  if (bytes <= limitBytes) return;
  const messages = [`The input file is larger than the maximum size of ${readableSize(limitBytes)}.`];
  throw new KinoraError('invalid_input', { messages });
};
