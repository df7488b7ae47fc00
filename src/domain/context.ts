import type { Database } from '../db/database.js';
import type { Clock } from '../lib/clock.js';
import type { Queue } from '../queue/queue.js';
import type { ArtifactUrls } from './signing/artifact-urls.js';

/** What the operations of the domain work with. */
export interface DomainContext {
  readonly database: Database;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly artifactUrls: ArtifactUrls;
  /** Speech recognition is configured. */
  readonly recognizesSpeech: boolean;
  /** Where this API is, without a slash at the end; known once the server listens. */
  apiUrl(): string;
  /** Called after the commit, so that caches forget what may no longer be served. */
  onAssetDeleted(assetId: string, playbackIds: readonly string[]): void;
  /** A track was added, changed or removed. */
  onTracksChanged(assetId: string): void;
  onPlaybackIdDeleted(playbackId: string): void;
  onSigningKeyDeleted(signingKeyId: string): void;
  /** Removal is a change too. */
  onPlaybackRestrictionChanged(restrictionId: string): void;
}
