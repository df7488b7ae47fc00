import type { Rational, VideoFacts } from '../source/source-facts.js';
import { findCodecObstacle, findImageObstacle } from './copy-decision.js';
import { displaySize, limitRung, limitRungs, planLadder, type Rung, type Size } from './ladder.js';
import { findOriginalObstacle, isOriginalCodec } from './original-decision.js';
import type { VideoFilters } from './plan.js';
import { sourceFilters } from './video-filters.js';

export interface LiveRungsInput {
  readonly video: VideoFacts;
  /** bit/s of the recorded video, measured so far. */
  readonly bandwidth: number;
  readonly isTest: boolean;
  /** The most rungs beside the recorded video. */
  readonly maxRungs: number;
}

export interface LiveRungsPlan {
  readonly filters: VideoFilters;
  readonly frameRate: Rational;
  /** Of the highest variant. */
  readonly size: Size;
  /** Highest first. */
  readonly rungs: readonly Rung[];
  /** Why the recorded video is not enough for all players. */
  readonly obstacle?: string;
  /** How the recorded video is announced; absent when players may not get it. */
  readonly copyName?: string;
  /**
   * Of the size of the recorded H.264 and with its name: replaces it from the first segment on that
   * players can't start with.
   */
  readonly replacement?: Rung;
  /** bit/s that the recorded video announces at least, so that each rung has less than the next. */
  readonly leastBandwidth: number;
}

/**
 * At the start the picture may stand still; it is not a reason to limit the rungs for hours. The
 * share of the highest rung's rate that is assumed at least.
 */
const LEAST_SHARE = 0.5;

/**
 * Plans the rungs of a live stream, which has at least quality `plus`. Its recorded H.264 is the
 * highest one, however large its bitrate, unless players may not show it: then the highest one is
 * encoded, whatever `maxRungs` says, and HEVC or AV1 are one more variant. How far apart its key
 * frames are is not known yet.
 */
export const planLiveRungs = ({ video, bandwidth, isTest, maxRungs }: LiveRungsInput): LiveRungsPlan => {
  const filters = { ...sourceFilters(video), testMark: isTest };
  const { frameRate } = video;
  const ladder = planLadder({ frame: displaySize(video), frameRate, quality: 'plus', maxResolutionTier: '2160p' });
  const encoded = ladder.map((rung) => ({ ...rung, encoder: { ...rung.encoder, bFrames: 0 } }));
  const top = encoded.at(-1)!;
  const size = { width: top.width, height: top.height };
  const imageObstacle = findImageObstacle({ video, filters, top });
  const obstacle = findCodecObstacle({ video, filters }) ?? imageObstacle;
  const leastBandwidth = Math.max(bandwidth, Math.round(top.encoder.maxRate * LEAST_SHARE));
  if (obstacle === undefined) {
    const lower = limitRungs(keepSpread(encoded.slice(0, -1), leastBandwidth, maxRungs), leastBandwidth);
    return {
      filters,
      frameRate,
      size,
      rungs: lower.toReversed(),
      copyName: top.name,
      replacement: limitRung(top, leastBandwidth),
      leastBandwidth,
    };
  }
  const rungs = [...keepSpread(encoded.slice(0, -1), top.bandwidth, maxRungs - 1), top].toReversed();
  const originalObstacle = imageObstacle ?? findOriginalObstacle(video);
  const isOffered = isOriginalCodec(video.codec) && !filters.toneMap && originalObstacle === undefined;
  return {
    filters,
    frameRate,
    size,
    rungs,
    obstacle,
    ...(isOffered && { copyName: `${top.name}-${video.codec}` }),
    leastBandwidth,
  };
};

/** Leaves out, one by one, the rung that is closest to the next higher one. Lowest first. */
const keepSpread = (rungs: readonly Rung[], above: number, count: number): Rung[] => {
  const spread = [...rungs];
  while (spread.length > Math.max(count, 0)) {
    const ratios = spread.map((rung, index) => (spread[index + 1]?.bandwidth ?? above) / rung.bandwidth);
    spread.splice(ratios.indexOf(Math.min(...ratios)), 1);
  }
  return spread;
};
