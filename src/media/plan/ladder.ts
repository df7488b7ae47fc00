import { avcCodecs } from '../codecs/avc.js';
import type { Rational, VideoFacts } from '../source/source-facts.js';
import type { EncoderSettings, VideoPlan, VideoRendition } from './plan.js';

export type VideoQuality = 'basic' | 'plus' | 'premium';
export type ResolutionTier = '1080p' | '1440p' | '2160p';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** kb/s by quality; in `basic`, 360p is not a separate rung but only the label of small sources. */
const LABELS = [
  { name: '270p', width: 480, height: 270, basic: 300, plus: 400, premium: 500 },
  { name: '360p', width: 640, height: 360, basic: 500, plus: 700, premium: 900, notInBasic: true },
  { name: '480p', width: 854, height: 480, basic: 900, plus: 1200, premium: 1500 },
  { name: '720p', width: 1280, height: 720, basic: 1800, plus: 2400, premium: 3200 },
  { name: '1080p', width: 1920, height: 1080, basic: 3500, plus: 4500, premium: 6500 },
  { name: '1440p', width: 2560, height: 1440, basic: 6500, plus: 8000, premium: 11000 },
  { name: '2160p', width: 3840, height: 2160, basic: 11000, plus: 14000, premium: 20000 },
] as const;

const ENCODERS = {
  basic: { preset: 'veryfast', crf: 23 },
  plus: { preset: 'veryfast', crf: 21 },
  premium: { preset: 'faster', crf: 19 },
} as const;

/** Table A-1 of the H.264 standard: level x 10, macroblocks per second, macroblocks per frame. */
const LEVELS = [
  [21, 19_800, 792],
  [22, 20_250, 1620],
  [30, 40_500, 1620],
  [31, 108_000, 3600],
  [32, 216_000, 5120],
  [40, 245_760, 8192],
  [42, 522_240, 8704],
  [50, 589_824, 22_080],
  [51, 983_040, 36_864],
  [52, 2_073_600, 36_864],
  [60, 4_177_920, 139_264],
  [62, 16_711_680, 139_264],
] as const;

const HIGH_PROFILE = 100;
/** How far a segment may exceed its `maxRate`. */
const BANDWIDTH_MARGIN = 1.1;
const MAX_FRAME_RATE = 60;

/**
 * Rounds to the nearest even number, halves down: an odd source loses a line but never gains one.
 */
export const even = (value: number): number => Math.max(2, Math.ceil(value / 2 - 0.5) * 2);

/** Width and height of the upright frame with square pixels, not yet even. */
export const displaySize = ({ width, height, sampleAspect, rotation }: VideoFacts): Size => {
  const { num, den } = sampleAspect;
  const squareWidth = num > 0 && den > 0 ? (width * num) / den : width;
  return rotation % 180 === 0 ? { width: squareWidth, height } : { width: height, height: squareWidth };
};

/** The largest landscape frame of a tier. */
export const tierBox = (tier: ResolutionTier): Size => LABELS.find(({ name }) => name === tier)!;

/** The name of a rung with frames of this size: that of the smallest box that contains them. */
export const rungName = (frame: Size): string => {
  const holds = (box: Size): boolean => {
    const { width, height } = rotateBox(box, frame);
    return frame.width <= width && frame.height <= height;
  };
  return (LABELS.find(holds) ?? LABELS.at(-1)!).name;
};

const rotateBox = (box: Size, frame: Size): Size =>
  frame.height > frame.width ? { width: box.height, height: box.width } : { width: box.width, height: box.height };

/**
 * Scales down into the box (rotated for portrait) to an even size with the same aspect ratio; never
 * enlarges.
 */
export const fitInto = (frame: Size, box: Size): Size => {
  const { width, height } = rotateBox(box, frame);
  const scale = Math.min(width / frame.width, height / frame.height, 1);
  return { width: even(frame.width * scale), height: even(frame.height * scale) };
};

/** The lowest H.264 level (x 10) that allows frames of this size at this rate. */
export const avcLevel = ({ width, height }: Size, framesPerSecond: number): number => {
  const macroblocks = Math.ceil(width / 16) * Math.ceil(height / 16);
  const level = LEVELS.find(([, rate, size]) => macroblocks <= size && macroblocks * framesPerSecond <= rate);
  return (level ?? LEVELS.at(-1)!)[0];
};

export interface LadderInput {
  /** From `displaySize`. */
  readonly frame: Size;
  /** 0/1 when unknown. */
  readonly frameRate: Rational;
  /** See `VideoPlan`. */
  readonly peakFrameRate?: number;
  readonly quality: VideoQuality;
  readonly maxResolutionTier: ResolutionTier;
}

/** An encoded rendition. */
export type Rung = VideoRendition & { readonly kind: 'encode'; readonly encoder: EncoderSettings };

/**
 * The rungs, lowest first: every label of the quality whose frame is smaller than the stored one,
 * and a rung at the stored size, named after the smallest box that contains it.
 */
export const planLadder = (input: LadderInput): Rung[] => {
  const { frame, frameRate, quality, maxResolutionTier } = input;
  const stored = fitInto(frame, tierBox(maxResolutionTier));
  const sourceRate = rateOf(frameRate);
  // Measured averages are slightly off: 60.01 is 60.
  const frameStep = Math.max(1, Math.ceil(sourceRate / (MAX_FRAME_RATE + 0.5)));
  const rung = (label: (typeof LABELS)[number], size: Size): Rung => {
    const level = avcLevel(size, levelRate(input, frameStep));
    const maxRate = label[quality] * 1000;
    return {
      name: label.name,
      kind: 'encode',
      ...size,
      frameStep,
      codecs: avcCodecs(HIGH_PROFILE, 0, level),
      bandwidth: Math.round(maxRate * BANDWIDTH_MARGIN),
      encoder: { ...ENCODERS[quality], maxRate, level },
    };
  };
  const topName = rungName(stored);
  const top = LABELS.findIndex(({ name }) => name === topName);
  const lower = LABELS.slice(0, top)
    .filter((label) => !(quality === 'basic' && 'notInBasic' in label))
    .map((label) => rung(label, fitInto(frame, label)))
    .filter(({ width, height }) => width < stored.width && height < stored.height);
  return [...lower, rung(LABELS[top]!, stored)];
};

const isRung = (rendition: VideoRendition): rendition is Rung => rendition.encoder !== undefined;

/** The rate in the table: below a copy, the rungs of the plan may promise less. */
const tableRate = ({ name }: Rung, quality: VideoQuality): number =>
  LABELS.find((label) => label.name === name)![quality] * 1000;

/** Whether the bitrate of a copy limits the rungs below it. */
export const hasLimitedRungs = (renditions: readonly VideoRendition[], quality: VideoQuality): boolean =>
  renditions.some((rendition) => isRung(rendition) && rendition.encoder.maxRate < tableRate(rendition, quality));

/**
 * The renditions of a plan for frames that only need a share of the table's rates, `bitrateScale`
 * (0 to 1). A copy, which is compared with the full rate of its rung, stays unchanged.
 */
export const scaleRenditions = (
  renditions: readonly VideoRendition[],
  quality: VideoQuality,
  bitrateScale: number,
): VideoRendition[] => {
  const scaled = renditions.filter(isRung).map((rung) => {
    const maxRate = Math.max(Math.round(tableRate(rung, quality) * bitrateScale), MIN_RATE);
    return { ...rung, bandwidth: Math.round(maxRate * BANDWIDTH_MARGIN), encoder: { ...rung.encoder, maxRate } };
  });
  const copy = renditions.find(({ kind }) => kind === 'copy');
  return copy ? [...limitRungs(scaled, copy.bandwidth), copy] : scaled;
};

/** The maximum promised rate of a rung, as a share of the next higher one's. */
const STEP_DOWN = 0.75;
const MIN_RATE = 100_000;

/** Limits what a rung promises to `bandwidth` (bit/s). */
export const limitRung = (rung: Rung, bandwidth: number): Rung => {
  const maxRate = Math.max(Math.floor(bandwidth / BANDWIDTH_MARGIN), MIN_RATE);
  return rung.encoder.maxRate <= maxRate
    ? rung
    : { ...rung, bandwidth: Math.ceil(maxRate * BANDWIDTH_MARGIN), encoder: { ...rung.encoder, maxRate } };
};

/**
 * Limits the rungs below one that needs `bandwidth` (bit/s), so that each promises less than the
 * next. Players assume that a higher rate means better quality, and a copied source may need less
 * than the ladder allows for the rung below it.
 */
export const limitRungs = (rungs: readonly Rung[], bandwidth: number): Rung[] => {
  let above = bandwidth;
  return rungs
    .toReversed()
    .map((rung) => {
      const limited = limitRung(rung, above * STEP_DOWN);
      above = limited.bandwidth;
      return limited;
    })
    .reverse();
};

/**
 * A size that the ladder does not have, smaller than the top rung: its rate is interpolated between
 * its neighbors by the number of pixels.
 */
export const planRung = (
  { renditions, ...rates }: Pick<VideoPlan, 'renditions' | 'frameRate' | 'peakFrameRate'>,
  size: Size,
  quality: VideoQuality,
): Rung => {
  const pixels = (of: Size): number => of.width * of.height;
  const above = renditions.find((rung) => pixels(rung) > pixels(size)) ?? renditions.at(-1)!;
  const below = renditions.findLast((rung) => pixels(rung) < pixels(size));
  const least = below ? { pixels: pixels(below), bandwidth: below.bandwidth } : { pixels: 0, bandwidth: 0 };
  const share = (pixels(size) - least.pixels) / (pixels(above) - least.pixels);
  const bandwidth = Math.round(least.bandwidth + (above.bandwidth - least.bandwidth) * share);
  const { preset, crf } = above.encoder ?? below?.encoder ?? ENCODERS[quality];
  const { frameStep } = above;
  const reorderTicks = renditions.find(({ kind }) => kind === 'encode')?.reorderTicks;
  const level = avcLevel(size, levelRate(rates, frameStep));
  return {
    name: `${size.width}x${size.height}`,
    kind: 'encode',
    ...size,
    frameStep,
    codecs: avcCodecs(HIGH_PROFILE, 0, level),
    bandwidth,
    ...(reorderTicks !== undefined && { reorderTicks }),
    encoder: { preset, crf, maxRate: Math.floor(bandwidth / BANDWIDTH_MARGIN), level },
  };
};

const rateOf = ({ num, den }: Rational): number => (num > 0 ? num / den : 30);

/**
 * The frames per second that the level of a rendition has to allow. Measured averages are slightly
 * off.
 */
export const levelRate = (
  { frameRate, peakFrameRate = 0 }: Pick<VideoPlan, 'frameRate' | 'peakFrameRate'>,
  frameStep: number,
): number => Math.ceil(Math.max(rateOf(frameRate), peakFrameRate) / frameStep - 0.01);

/**
 * The most frames that begin within any second of a video: the limit of a level holds at every
 * moment.
 */
export const findPeakRate = (frameTicks: Float64Array, timescale: number): number => {
  let first = 0;
  return frameTicks.reduce((peak, ticks, frame) => {
    while (ticks - frameTicks[first]! > timescale) first += 1;
    return Math.max(peak, frame - first);
  }, 0);
};
