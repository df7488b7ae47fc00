/**
 * Measures how much two frames differ. Small copies of the frames suffice, because shots differ as
 * a whole.
 */

export const SMALL_WIDTH = 64;
export const SMALL_HEIGHT = 36;
const LUMA_SAMPLES = SMALL_WIDTH * SMALL_HEIGHT;
/** Planar 4:2:0. */
export const SMALL_BYTES = (LUMA_SAMPLES * 3) / 2;

/** Luma values of limited-range video. */
const LUMA_RANGE = 219;
const BIN_SHIFT = 3;
const BINS = 256 >> BIN_SHIFT;
const HISTOGRAM_WEIGHT = 0.3;
/** Frames with a lower standard deviation of luma count as blank. */
const BLANK_DEVIATION = 4;

export interface SmallFrame {
  /** `SMALL_BYTES` samples. */
  readonly samples: Uint8Array;
  /**
   * Luma histogram. Each sample is split between the two nearest bins, so that a small brightness
   * change has little effect.
   */
  readonly histogram: Float32Array;
  readonly mean: number;
  readonly deviation: number;
}

export const describeSmallFrame = (samples: Uint8Array): SmallFrame => {
  const histogram = new Float32Array(BINS + 1);
  let sum = 0;
  let squares = 0;
  for (let at = 0; at < LUMA_SAMPLES; at += 1) {
    const value = samples[at]!;
    sum += value;
    squares += value * value;
    const bin = value >> BIN_SHIFT;
    const share = (value & ((1 << BIN_SHIFT) - 1)) / (1 << BIN_SHIFT);
    histogram[bin]! += 1 - share;
    histogram[bin + 1]! += share;
  }
  const mean = sum / LUMA_SAMPLES;
  return { samples, histogram, mean, deviation: Math.sqrt(Math.max(squares / LUMA_SAMPLES - mean * mean, 0)) };
};

export const isBlank = ({ deviation }: SmallFrame): boolean => deviation < BLANK_DEVIATION;

/** 0 for equal frames, about 0.2 or more for unrelated ones. Movement has little effect. */
export const changeBetween = (a: SmallFrame, b: SmallFrame): number => {
  let moved = 0;
  for (let bin = 0; bin <= BINS; bin += 1) moved += Math.abs(a.histogram[bin]! - b.histogram[bin]!);
  return sampleDifference(a.samples, b.samples) + (HISTOGRAM_WEIGHT * moved) / (2 * LUMA_SAMPLES);
};

/** Mean difference of the samples, as a share of their range. */
const sampleDifference = (a: Uint8Array, b: Uint8Array): number => {
  let sum = 0;
  for (let at = 0; at < SMALL_BYTES; at += 1) sum += Math.abs(a[at]! - b[at]!);
  return sum / (SMALL_BYTES * LUMA_RANGE);
};

/** 1 when the frames differ only in brightness, 0 when they are unrelated. */
export const likeness = (a: SmallFrame, b: SmallFrame): number => {
  if (isBlank(a) || isBlank(b)) return 0;
  let product = 0;
  for (let at = 0; at < LUMA_SAMPLES; at += 1) product += (a.samples[at]! - a.mean) * (b.samples[at]! - b.mean);
  return product / (LUMA_SAMPLES * a.deviation * b.deviation);
};

/**
 * Difference between `middle` and the average of two frames, relative to the difference between the
 * two.
 */
export const mixtureError = (before: SmallFrame, middle: SmallFrame, after: SmallFrame): number => {
  let error = 0;
  let whole = 0;
  for (let at = 0; at < SMALL_BYTES; at += 1) {
    const [a, b] = [before.samples[at]!, after.samples[at]!];
    error += Math.abs(middle.samples[at]! - (a + b) / 2);
    whole += Math.abs(a - b);
  }
  return whole === 0 ? 1 : error / whole;
};
