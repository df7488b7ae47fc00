import { isMatroskaFormat, isMovFormat } from '../source/frames.js';
import type { Rational, SourceFacts } from '../source/source-facts.js';
import type { SourceIndex, StreamIndex } from '../source/source-index.js';
import { displaySize, fitInto, type ResolutionTier, tierBox } from './ladder.js';
import type { VideoFilters } from './plan.js';
import { sourceFilters } from './video-filters.js';

/** How a mezzanine is encoded; the concatenated chunks are the file. */
export interface MezzaninePlan {
  readonly timeBase: Rational;
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly filters: VideoFilters;
  /** See `VideoFacts.decodeTimesOnly`. */
  readonly reorderTimes?: boolean;
  /** How long the last frame is displayed, in stream ticks; absent where the file does not say. */
  readonly lastDuration?: number;
  readonly chunks: readonly MezzanineChunk[];
}

export interface MezzanineChunk {
  /** The stream ticks of its first key frame; absent means from the start. */
  readonly fromPts?: number;
  /** In stream ticks, exclusive; absent means to the end. */
  readonly untilPts?: number;
  /** The number of the chunk's first 2 s fragment; each chunk has a range with room to spare. */
  readonly firstSequence: number;
  /** The number of packets, which is its share of the progress. */
  readonly weight: number;
}

const MAX_FRAGMENTS_A_CHUNK = 100_000;

/** Up to `maxChunks` chunks of about the same length, cut at key frames. */
export const planMezzanine = (
  facts: SourceFacts,
  index: SourceIndex,
  tier: ResolutionTier,
  maxChunks: number,
): MezzaninePlan => {
  const video = facts.video!;
  const { width, height } = fitInto(displaySize(video), tierBox(tier));
  const cuts = index.video ? chooseCuts(index.video, maxChunks) : [];
  const total = Math.max(index.video?.pts.length ?? 1, 1);
  const chunks = Array.from({ length: cuts.length + 1 }, (_, chunk): MezzanineChunk => {
    const from = cuts[chunk - 1];
    const until = cuts[chunk];
    return {
      ...(from && { fromPts: from.pts }),
      ...(until && { untilPts: until.pts }),
      firstSequence: 1 + chunk * MAX_FRAGMENTS_A_CHUNK,
      weight: Math.max((until?.packet ?? total) - (from?.packet ?? 0), 1),
    };
  });
  const { timeBase, frameRate } = video;
  const isExact = !index.discontinuous && (isMovFormat(facts.formatName) || isMatroskaFormat(facts.formatName));
  return {
    timeBase,
    width,
    height,
    frameRate,
    filters: sourceFilters(video),
    ...(video.decodeTimesOnly && { reorderTimes: true }),
    ...(isExact && index.video && { lastDuration: index.video.lastDuration }),
    chunks,
  };
};

/** For each of the `maxChunks - 1` evenly spaced marks, the first key frame at or after it. */
const chooseCuts = (index: StreamIndex, maxChunks: number): { pts: number; packet: number }[] => {
  const cuts: { pts: number; packet: number }[] = [];
  for (let packet = 1; packet < index.pts.length && cuts.length < maxChunks - 1; packet += 1) {
    const isDue = packet >= ((cuts.length + 1) * index.pts.length) / maxChunks;
    if (isDue && index.key[packet]) cuts.push({ pts: index.pts[packet]!, packet });
  }
  return cuts;
};
