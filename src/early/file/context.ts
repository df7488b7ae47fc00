// Answers what can be read now: what a step on one file gets.

import type { PresentRanges } from '../../lib/byte-ranges.js';
import type { AssetSettings } from '../../media/plan/plan-asset.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import type { MediaPool } from '../../pool/media-pool.js';
import type { BlobStore } from '../../storage/blob-store.js';

/** What the steps on one file need, for both the source of an asset and the file of a track. */
export interface FileContext {
  readonly blobs: BlobStore;
  readonly pool: Pick<MediaPool, 'run'>;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly signal: AbortSignal;
}

/** A file with frames and audio, and the settings of the asset. */
export interface SourceFile {
  readonly path: string;
  /** See `MediaSource`. */
  readonly staged?: PresentRanges;
  readonly facts: SourceFacts;
  readonly settings: AssetSettings;
}
