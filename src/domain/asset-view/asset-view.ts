import type { Row } from '../../db/schema.js';
import type { AssetViewRow } from '../../db/tables/assets/asset-view.js';

/** Playback IDs, tracks and renditions are in creation order. */
export interface AssetView extends Pick<AssetViewRow, 'asset' | 'playbackIds' | 'tracks' | 'renditions'> {
  readonly master?: MasterView | undefined;
  readonly shots?: ShotsView | undefined;
}

export type PlaybackIdRecord = AssetViewRow['playbackIds'][number];
/** A playback ID with its owner: an asset or a live stream. */
export type OwnedPlaybackId = Row<'playback_id'>;
export type TrackRecord = AssetViewRow['tracks'][number];
export type RenditionRecord = AssetViewRow['renditions'][number];

export interface MasterView {
  readonly status: 'preparing' | 'ready' | 'errored';
  /** A signed URL; present when the master is ready. */
  readonly url?: string | undefined;
}

export interface ShotsView {
  readonly shots: Pick<Row<'shots'>, 'status' | 'created_at' | 'error'>;
  /** A signed URL; present when the shots are completed. */
  readonly manifestUrl?: string | undefined;
}

export interface InputRecord {
  readonly settings: object;
  readonly file: object | null;
  readonly early_playback: object | null;
  /** Of the main input. */
  readonly copy_decision: string | null;
}
