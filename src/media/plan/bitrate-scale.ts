import { isMpegStreamFormat, listFrames } from '../source/frames.js';
import type { Rational } from '../source/source-facts.js';
import type { StreamIndex } from '../source/source-index.js';
import type { Size } from './ladder.js';

/** The key frame with which a sample begins. */
export interface SamplePosition {
  /** Stream ticks. */
  readonly pts: number;
  /** The byte position in MPEG streams; other formats are sought by time. */
  readonly position?: number;
}

/** The size of a sample's frames at a constant quality. */
export interface RateSample {
  /** How long they are displayed. */
  readonly seconds: number;
  /** The size of the first frame, the only key frame. */
  readonly keyBytes: number;
  readonly otherBytes: number;
}

/**
 * Samples are encoded at this size: large enough to represent the content, small enough to be fast.
 */
export const SAMPLE_BOX: Size = { width: 640, height: 360 };
/** The rate of quality `plus` at this size, and how rates grow with the number of pixels. */
const TABLE_BITS_PER_SECOND = 700_000;
const TABLE_EXPONENT = 0.85;
/**
 * Positions spread over the source, as shares of its length, because packet sizes of a
 * constant-bitrate source say nothing about its frames.
 */
const SPREAD = [1 / 3, 2 / 3];
const SEGMENT_SECONDS = 4;
/**
 * The margin over what the busiest sample needs: three seconds do not represent everything, and
 * larger and smaller rungs may need more than the sample size (measured: 0.5 to 2 times as much,
 * single rungs 3 times).
 */
const HEADROOM = 2;
const MIN_SCALE = 0.35;
/** Rounding steps: encoding the same samples twice differs by up to 1 %. */
const STEPS = 20;

/**
 * Chooses up to three ascending positions to sample a stream: where its packets are largest, and
 * others spread over it.
 */
export const pickSamplePositions = (index: StreamIndex, formatName: string, timeBase: Rational): SamplePosition[] => {
  const first = listFrames(index, formatName)[0];
  if (first === undefined) return [];
  const segmentTicks = (SEGMENT_SECONDS * timeBase.den) / timeBase.num;
  const spans: { pts: number; position: number; bytes: number; packets: number }[] = [];
  index.pts.forEach((pts, packet) => {
    const isKey = index.key[packet] === 1;
    if (isKey && pts >= first && pts >= (spans.at(-1)?.pts ?? Number.NEGATIVE_INFINITY) + segmentTicks)
      spans.push({ pts, position: index.position[packet]!, bytes: 0, packets: 0 });
    const span = spans.at(-1);
    if (!span) return;
    span.bytes += index.size[packet]!;
    span.packets += 1;
  });
  // Per frame and not per second: the last span is shorter, and a span with few key frames is
  // longer.
  const sizes = spans.map(({ bytes, packets }) => bytes / packets);
  const busiest = sizes.reduce((most, size, span) => (size > sizes[most]! ? span : most), 0);
  const chosen = new Set([busiest, ...SPREAD.map((part) => Math.floor(spans.length * part))]);
  const seeksBytes = isMpegStreamFormat(formatName);
  return [...chosen]
    .sort((a, b) => a - b)
    .map((span) => spans[span]!)
    .map(({ pts, position }) => (seeksBytes ? { pts, position } : { pts }));
};

/**
 * The share of the table's rates that the frames may need, 0.35 to 1 in steps of 0.05; 1 without
 * samples.
 */
export const bitrateScale = (samples: readonly RateSample[], { width, height }: Size): number => {
  const rates = samples.map(
    ({ seconds, keyBytes, otherBytes }) => 8 * (keyBytes / SEGMENT_SECONDS + otherBytes / seconds),
  );
  const pixels = (width * height) / (SAMPLE_BOX.width * SAMPLE_BOX.height);
  const needed = Math.max(...rates) / (TABLE_BITS_PER_SECOND * pixels ** TABLE_EXPONENT);
  const share = Math.ceil(HEADROOM * needed * STEPS) / STEPS;
  return needed >= 0 ? Math.min(Math.max(share, MIN_SCALE), 1) : 1;
};
