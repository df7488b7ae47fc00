import type { BlobInfo, BlobWrite, RangeOrigin } from '../storage/blob-store.js';

/** Guarded, resumable download of a source file. */
export interface SourceFetcher {
  /**
   * Streams `url` into `target` and commits it; continues after `target.offsetBytes` when the origin allows it. On failure
   * `target` is suspended, or discarded when the input is refused.
   * Credentials in the URL are used, never logged.
   * @throws KinoraError `invalid_input` with the exact message of the reference (HTTP status, refused address, empty, too
   * large), `source_unreachable` after its own tries, `cancelled`
   */
  fetch(url: string, target: BlobWrite, options: FetchOptions): Promise<BlobInfo>;
}

/** A file that can be read in parts where it is. */
export interface RemoteFile extends RangeOrigin {
  /** What names this version of the file; see `FetchOptions.validator`. */
  readonly validator: string;
}

export interface FetchOptions {
  readonly signal?: AbortSignal;
  /** Below the limit that holds for every source. */
  readonly maxBytes?: number;
  /**
   * What `onValidator` told when the bytes before `target.offsetBytes` were stored. Without it a download starts again at
   * zero: the remote file may have changed, and two halves of different files must never be joined.
   */
  readonly validator?: string;
  /**
   * Called once, before the first byte of the body is read, when the origin tells that it sends parts of the file and names its
   * version. May give another write to go on with; until it settles nothing is stored.
   */
  readonly onRanges?: (remote: RemoteFile) => Promise<BlobWrite | undefined>;
  /** Called before the first byte of a file version is stored; undefined: the origin gives no strong validator. */
  readonly onValidator?: (validator: string | undefined) => void | Promise<void>;
  /** `totalBytes` is absent when the origin does not tell. Called at most a few times a second. */
  readonly onProgress?: (receivedBytes: number, totalBytes: number | undefined) => void;
}
