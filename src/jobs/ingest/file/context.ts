import type { MediaPool } from '../../../pool/media-pool.js';
import type { BlobStore } from '../../../storage/blob-store.js';

/** What the steps need that read one file, be it the source of an asset or the file of a track. */
export interface FileContext {
  readonly blobs: BlobStore;
  readonly pool: MediaPool;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly signal: AbortSignal;
}
