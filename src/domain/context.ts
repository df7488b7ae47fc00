import type { Database } from '../db/database.js';
import type { Clock } from '../lib/clock.js';
import type { Queue } from '../queue/queue.js';

/** One file that belongs to an asset and is not reached through a playback id. */
export interface Artifact {
  readonly kind: 'master' | 'shots' | 'robots';
  readonly assetId: string;
  /** Of the order that the file was made for: what is ordered again later has other addresses. */
  readonly version: string;
  /** Name of the file: `master.mp4`. */
  readonly file: string;
}

/** Addresses on the stream host that carry their own permission and end by themselves. */
export interface ArtifactUrls {
  /** Absolute. */
  urlOf(artifact: Artifact, expiresAtSeconds: number): string;
  /**
   * @param expires and @param signature as the request brings them
   * @throws KinoraError `forbidden` unless both are those of an address of this file whose time is not over
   */
  check(artifact: Artifact, expires: unknown, signature: unknown, now: Date): void;
}

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
