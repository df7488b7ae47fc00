import type { MediaPool } from '../../../pool/media-pool.js';
import type { BlobStore } from '../../../storage/blob-store.js';

/** What the steps on one file need, for both the source of an asset and the file of a track. */
export interface FileContext {
  readonly blobs: BlobStore;
  readonly pool: MediaPool;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly signal: AbortSignal;
}
