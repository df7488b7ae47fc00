import type { MediaPriority } from '../pool/media-pool.js';
import type { PlayableAsset } from './playable-asset.js';

/** What another server needs to make a segment or an init segment. */
export interface PeerSegment {
  readonly asset: PlayableAsset;
  readonly rendition: string;
  /** `init.mp4`, `0.m4s`, `1.m4s` … */
  readonly file: string;
}

/**
 * The other servers that may have a segment, or create it. A contract, because the packager may not
 * import `nodes`.
 */
export interface SegmentPeers {
  /**
   * Whether another server should be asked first. `placedBy` is the number of the segment that
   * decides: 0 for init segments, and the first one of a chunk of audio.
   */
  isRemote(assetId: string, placedBy: number): boolean;
  /**
   * The segment from another server; undefined when this one has to make it. Throws only when
   * aborted.
   */
  get(
    segment: PeerSegment,
    placedBy: number,
    options: { readonly signal: AbortSignal; readonly priority: MediaPriority },
  ): Promise<Uint8Array | undefined>;
}
