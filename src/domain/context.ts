import type { Database, Queryable, Transaction } from '../db/database.js';
import type { Row } from '../db/schema.js';
import type { BucketPath } from '../lib/bucket-url.js';
import type { Clock } from '../lib/clock.js';
import type { Queue } from '../queue/queue.js';
import type { LiveControl } from './live/live-control.js';
import type { ArtifactUrls } from './signing/artifact-urls.js';
import type { WireFormat } from './wire-format.js';

/**
 * What robots do when an asset changes, in the transaction of the change. An interface, because the
 * domain does not import robots.
 */
export interface AssetHook {
  /** Returns those of the IDs that are directives of the environment. */
  findDirectives(db: Queryable, environmentId: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The asset is ready, and the work that it was created with has been queued. */
  onReady(context: Pick<DomainContext, 'clock' | 'queue'>, tx: Transaction, asset: Row<'asset'>): Promise<void>;
  /** The asset has failed, or its tracks or shots have changed. */
  onChanged(context: Pick<DomainContext, 'queue'>, tx: Transaction, assetId: string): Promise<void>;
  /** The asset is about to be removed. */
  beforeRemoval(context: DomainContext, tx: Transaction, assetId: string): Promise<void>;
}

/**
 * What the operations of the domain work with. An interface, because the domain may not import the
 * caches that it tells of changes; tests record what they are told.
 */
export interface DomainContext {
  readonly database: Database;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly wire: WireFormat;
  readonly artifactUrls: ArtifactUrls;
  /** What inputs may name in place. */
  readonly sourceBuckets: readonly BucketPath[];
  /** Speech recognition is configured. */
  readonly recognizesSpeech: boolean;
  /** Undefined on a server without robots. */
  readonly assetHook: AssetHook | undefined;
  /** Ends broadcasts. */
  readonly live: LiveControl;
  /** The URL of this API without a trailing slash; known once the server listens. */
  apiUrl(): string;
  /** Called after the commit, so that caches drop what may no longer be served. */
  onAssetDeleted(assetId: string, playbackIds: readonly string[]): void;
  /**
   * What viewers are served changed: the asset became ready or errored, or a track was added,
   * changed or removed.
   */
  onPlayableChanged(assetId: string): void;
  onPlaybackIdDeleted(playbackId: string): void;
  onSigningKeyDeleted(signingKeyId: string): void;
  /** Also called on removal. */
  onPlaybackRestrictionChanged(restrictionId: string): void;
  /** Another restriction applies to the public playback IDs of the environment, or none. */
  onPublicRestrictionChanged(environmentId: string): void;
  /** Also called for a new budget and on removal. */
  onBudgetChanged(): void;
}
