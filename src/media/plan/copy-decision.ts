import { listAvccSequences, readAvcc } from '../codecs/avc.js';
import { readAvcSequence } from '../codecs/avc-sps.js';
import { matrixSupport } from '../codecs/color-names.js';
import { fragmentOverheadBytes } from '../mp4/cmaf.js';
import { hasOpenGops } from '../source/frames.js';
import type { SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { StreamIndex } from '../source/source-index.js';
import { countFrames, MIN_PEAK_SECONDS, planKeyFrameGrid } from './grid.js';
import type { Rung, VideoQuality } from './ladder.js';
import type { VideoFilters } from './plan.js';

/**
 * In each of a frame's few NAL units, a three-byte Annex B start code becomes a four-byte length.
 */
const LENGTH_PREFIX_GROWTH_BYTES = 4;

export interface CopyInput {
  readonly facts: SourceFacts;
  readonly video: VideoFacts;
  readonly index: StreamIndex;
  readonly filters: VideoFilters;
  readonly quality: VideoQuality;
  /** The rung the copy would replace. */
  readonly top: Rung;
  /** Timeline ticks of the displayed frames, ascending; the first is 0. */
  readonly frameTicks: Float64Array;
  /** Timeline ticks of a stream time. */
  readonly toTimeline: (pts: number) => number;
  readonly endTicks: number;
  readonly timescale: number;
}

export type CopyDecision =
  | { readonly copy: false; readonly reason: string }
  | {
      readonly copy: true;
      readonly boundaries: number[];
      /** In bit/s, over the busiest segment. */
      readonly bandwidth: number;
      readonly averageBandwidth: number;
    };

const BASELINE = 66;
const CONSTRAINED_BASELINE = 66 | (1 << 9);
const MAIN = 77;
const HIGH = 100;
const COPIED_PROFILES = new Set([BASELINE, CONSTRAINED_BASELINE, MAIN, HIGH]);
const MAX_LEVEL = 51;
/** What several sequence parameter sets must have in common. */
const SHAPE = ['width', 'height', 'chromaFormat', 'bitDepth', 'isInterlaced', 'hasSquarePixels'] as const;
/**
 * With fewer frames, playback with audio never starts in Chromium with hls.js: see `heldTicks`,
 * which only encoded renditions have.
 */
const MIN_FRAMES = 3;
/** How far the busiest segment may exceed the rung's limit; `basic` allows no excess. */
const PEAK_FACTOR = { basic: 1, plus: 1.5, premium: 1.5 } as const;

/**
 * Decides whether the top rung may be the source's own packets. They must be equivalent to the
 * encoder's output for a player, and every segment must decode independently.
 */
export const decideCopy = (input: CopyInput): CopyDecision => {
  const reason = findObstacle(input);
  return reason === undefined ? cutForCopy(input, PEAK_FACTOR[input.quality]) : { copy: false, reason };
};

/**
 * Cuts the packets at key frames.
 * @param peakFactor how far the busiest segment may exceed the rung's limit
 */
export const cutForCopy = (input: CopyInput, peakFactor: number): CopyDecision => {
  const { index, endTicks, timescale, top, toTimeline } = input;
  const keyTicks = index.pts.filter((_, packet) => index.key[packet] === 1).map(toTimeline);
  keyTicks[0] = 0;
  const boundaries = planKeyFrameGrid(keyTicks, endTicks, timescale);
  if (!boundaries) return { copy: false, reason: 'key frames do not allow segments of 1 to 8 s' };

  // In closed GOPs, the packets of a segment are consecutive in the file.
  let packet = 0;
  let peak = 0;
  let totalBits = 0;
  let bitsOfPart = 0;
  let startOfPart = 0;
  countFrames(input.frameTicks, boundaries).forEach((count, segment) => {
    let bits = (fragmentOverheadBytes(count) + count * LENGTH_PREFIX_GROWTH_BYTES) * 8;
    for (const after = packet + count; packet < after; packet += 1) bits += index.size[packet]! * 8;
    totalBits += bits;
    bitsOfPart += bits;
    const end = boundaries[segment + 1]!;
    if (end < endTicks && end - startOfPart < MIN_PEAK_SECONDS * timescale) return;
    peak = Math.max(peak, (bitsOfPart * timescale) / (end - startOfPart));
    bitsOfPart = 0;
    startOfPart = end;
  });
  const cap = top.encoder.maxRate * peakFactor;
  if (peak > cap) return { copy: false, reason: `the busiest segment has ${Math.ceil(peak)} bit/s, the cap is ${cap}` };
  return {
    copy: true,
    boundaries,
    bandwidth: Math.ceil(peak),
    averageBandwidth: Math.ceil((totalBits * timescale) / endTicks),
  };
};

const findObstacle = (input: CopyInput): string | undefined => {
  if (input.facts.formatName === 'avi') return 'the container keeps no presentation times';
  return findCodecObstacle(input) ?? findFrameObstacle(input);
};

/** Why players may not decode the H.264 of a source. */
export const findCodecObstacle = ({ video, filters }: Pick<CopyInput, 'video' | 'filters'>): string | undefined => {
  const record = video.avcc === undefined ? undefined : Buffer.from(video.avcc, 'base64');
  const avcc = record && readAvcc(record);
  if (video.codec !== 'h264') return `the codec is ${video.codec}`;
  if (!COPIED_PROFILES.has(video.profile)) return `H.264 profile ${video.profile}`;
  if (video.level > MAX_LEVEL || video.level <= 0) return `H.264 level ${video.level}`;
  if (video.pixelFormat !== 'yuv420p') return `the pixel format is ${video.pixelFormat}`;
  if (video.interlaced) return 'interlaced';
  if (!record || !avcc) return 'the decoder configuration is missing or changes';
  if (avcc.spsCount !== 1 && !hasOneShape(record)) return 'the stream has not exactly one sequence parameter set';
  if (video.idrKeyFrames === false) return 'key frames that are no IDR pictures';
  if (filters.toneMap) return 'the frame has to be tone-mapped';
  return undefined;
};

/**
 * Whether all frames look the same to a decoder that has this avcC record: content and slate of a
 * live stream have parameter sets of their own.
 */
const hasOneShape = (record: Uint8Array): boolean => {
  const units = listAvccSequences(record);
  const [first, ...others] = units.map(readAvcSequence);
  if (!first || units.length !== readAvcc(record)?.spsCount) return false;
  const isPlayable = units.every((unit) => COPIED_PROFILES.has(unit[1]!) && unit[3]! <= MAX_LEVEL);
  return (
    isPlayable && others.every((other) => other !== undefined && SHAPE.every((name) => other[name] === first[name]))
  );
};

/** Why frames of any codec can't be displayed unchanged. */
export const findImageObstacle = ({
  video,
  filters,
  top,
}: Pick<CopyInput, 'video' | 'filters' | 'top'>): string | undefined => {
  const { num, den } = video.sampleAspect;
  if (video.interlaced) return 'interlaced';
  if (num !== den) return 'pixels are not square';
  if (matrixSupport(video.color) !== 'scale') return `the color matrix is ${video.color.matrix}`;
  if (filters.rotation !== 0 || filters.flipHorizontal) return 'the frames have to be rotated';
  if (filters.testMark) return 'the frame gets the test mark';
  if (filters.overlays) return 'an image is laid over the video';
  if (top.width !== video.width || top.height !== video.height) return 'the frame has to be scaled';
  if (top.frameStep !== 1) return 'more than 60 frames a second';
  return undefined;
};

/** Why packets of any codec can't be displayed unchanged. */
export const findFrameObstacle = (input: CopyInput): string | undefined => {
  const { video, index, frameTicks, endTicks, timescale } = input;
  const obstacle = findImageObstacle(input);
  if (obstacle !== undefined) return obstacle;
  if (!video.simpleEditList) return 'the edit list is not simple';
  if (index.hidesReferences) return 'the edit list hides frames that others need';
  if (frameTicks.length !== index.pts.length || index.key[0] !== 1) return 'not every frame is shown';
  if (hasOpenGops(index)) return 'open GOPs';
  if (endTicks - frameTicks.at(-1)! > timescale) return 'the last frame is held';
  if (frameTicks.length < MIN_FRAMES) return `fewer than ${MIN_FRAMES} frames`;
  return undefined;
};
