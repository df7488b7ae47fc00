import { toNumber } from '../source/rational.js';
import type { Rational } from '../source/source-facts.js';
import type { ClipRange } from './find-start.js';
import type { OverlayPlacement, Plan } from './plan.js';

/** What the ingest of a clip knows about its source asset, which may be deleted in the meantime. */
export interface ClipSource extends ClipRange {
  /** Frames come from the mezzanine, which was made for this tier. */
  readonly mezzanineTier?: '1080p' | '1440p' | '2160p';
  readonly concatenated?: true;
  /** The file was cut out of a broadcast for this clip, and is planned as any other file. */
  readonly own?: true;
  /** These are part of the source's frames, and so of the clip's. */
  readonly overlays: readonly OverlayPlacement[];
}

/** A clip of a broadcast whose file is not cut out yet. Times are those of the live asset. */
export interface LiveClip {
  readonly liveStreamId: string;
  readonly liveAssetId: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** Applies if the broadcast is over by then. */
  readonly copyOverlays: boolean;
}

/** What `asset_media.clip` holds. */
export type StoredClip = ClipSource | LiveClip;

export const isLiveClip = (clip: StoredClip): clip is LiveClip => 'liveAssetId' in clip;

/**
 * The start of a clip, in seconds on the timeline of its source asset; `plan` is the clip's plan.
 */
export const clipStartSeconds = (plan: Plan, { zero }: Pick<ClipSource, 'zero'>): number =>
  toNumber(originOf(plan)) - toNumber(zero);

/** The source time, in seconds, that is zero on the timeline of a plan. */
export const originOf = ({ video, audio }: Plan): Rational => {
  if (video) return { num: video.originTicks, den: video.timescale };
  if (!audio) return { num: 0, den: 1 };
  return { num: audio.sourceOrigin * audio.sourceTimeBase.num, den: audio.sourceTimeBase.den };
};
