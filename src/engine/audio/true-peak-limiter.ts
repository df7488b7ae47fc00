import { betweenSamples } from './timestamp-alignment.js';

/**
 * The gain stays low for this long on both sides of a peak: longer than half a period of the lowest
 * tones.
 */
const HOLD_SECONDS = 0.02;
/**
 * Positions between two samples at which peaks are searched (ITU-R BS.1770, annex 2: four times
 * oversampling).
 */
const PHASES = [0.25, 0.5, 0.75];
/** Audible peaks between samples are at most this many times the surrounding samples. */
const RISE = 2;

/**
 * Samples that are closer than this to either end of the input of `limitPeaks` may be limited too
 * little.
 */
export const LIMITER_REACH_SECONDS = 2 * HOLD_SECONDS + 0.001;

/**
 * Reduces the volume around true peaks above `peakDb` (dBTP), equally in all channels. The gain at
 * a sample depends only on the audio within `LIMITER_REACH_SECONDS`, so the result does not depend
 * on where a chunk begins.
 */
export const limitPeaks = (
  planes: readonly Float32Array[],
  sampleRate: number,
  peakDb: number,
): readonly Float32Array[] => {
  const limits = findGains(planes, 10 ** (peakDb / 20));
  if (!limits) return planes;
  const hold = Math.round(HOLD_SECONDS * sampleRate);
  // The lowest gain nearby, smoothed twice over half that range, never exceeds what the peak
  // allows.
  const half = hold >> 1;
  const gains = smooth(smooth(lowestAround(limits, 2 * half), half), half);
  return planes.map((plane) => plane.map((sample, i) => sample * (gains[i] as number)));
};

/** The gain that each sample and the positions next to it need; undefined when none is needed. */
const findGains = (planes: readonly Float32Array[], ceiling: number): Float64Array | undefined => {
  let gains: Float64Array | undefined;
  const need = (i: number, peak: number): void => {
    if (peak <= ceiling) return;
    gains ??= new Float64Array(planes[0]?.length ?? 0).fill(1);
    if (i >= 0 && i < gains.length) gains[i] = Math.min(gains[i] as number, ceiling / peak);
  };
  for (const plane of planes) {
    for (let i = 0; i < plane.length; i++) {
      const size = Math.abs(plane[i] as number);
      if (Math.max(size, Math.abs(plane[i + 1] ?? 0)) * RISE <= ceiling) continue;
      need(i, size);
      for (const phase of PHASES) {
        const between = Math.abs(betweenSamples(plane, i, phase));
        need(i, between);
        need(i + 1, between);
      }
    }
  }
  return gains;
};

/** The lowest value within `reach` on both sides. */
const lowestAround = (values: Float64Array, reach: number): Float64Array => {
  const lowest = new Float64Array(values.length);
  // Positions of values that may become the lowest; positions and values both ascend.
  const candidates = new Int32Array(values.length);
  let first = 0;
  let end = 0;
  for (let i = 0; i < values.length + reach; i++) {
    if (i < values.length) {
      while (end > first && (values[candidates[end - 1] as number] as number) >= (values[i] as number)) end -= 1;
      candidates[end++] = i;
    }
    const centre = i - reach;
    if (centre < 0) continue;
    while ((candidates[first] as number) < centre - reach) first += 1;
    lowest[centre] = values[candidates[first] as number] as number;
  }
  return lowest;
};

/**
 * The mean of the values within `reach` on both sides; the last value continues beyond the ends.
 */
const smooth = (values: Float64Array, reach: number): Float64Array => {
  const at = (i: number): number => values[Math.min(Math.max(i, 0), values.length - 1)] as number;
  const means = new Float64Array(values.length);
  let sum = 0;
  for (let i = -reach; i < reach; i++) sum += at(i);
  for (let i = 0; i < values.length; i++) {
    sum += at(i + reach);
    means[i] = sum / (2 * reach + 1);
    sum -= at(i - reach);
  }
  return means;
};
