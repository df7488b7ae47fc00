import type { BlobInfo, BlobWrite } from '../storage/blob-store.js';

/** Guarded, resumable download of a source file. */
export interface SourceFetcher {
  /**
   * Streams `url` into `target` and commits it; continues after `target.offsetBytes` when the origin allows it.
   * Credentials in the URL are used, never logged.
   * @throws KinoraError `invalid_input` with the exact message of the reference (HTTP status, refused address, empty, too
   * large), `source_unreachable` after its own tries, `cancelled`
   */
  fetch(url: string, target: BlobWrite, options: FetchOptions): Promise<BlobInfo>;
}

export interface FetchOptions {
  readonly signal?: AbortSignal;
  /** `totalBytes` is absent when the origin does not tell. Called at most a few times a second. */
  readonly onProgress?: (receivedBytes: number, totalBytes: number | undefined) => void;
}
