import { betweenSamples } from './timestamp-alignment.js';

/** The gain is held low this long to both sides of a peak: longer than half a wave of the lowest tones. */
const HOLD_SECONDS = 0.02;
/** Places between two samples at which peaks are looked for (ITU-R BS.1770, annex 2: four times as many samples). */
const PHASES = [0.25, 0.5, 0.75];
/** Between samples no more than this many times the samples around can be reached by what is heard as a peak. */
const RISE = 2;

/** Samples nearer than this to an end of what is given to `limitPeaks` may be limited by too little. */
export const LIMITER_REACH_SECONDS = 2 * HOLD_SECONDS + 0.001;

/**
 * Turns audio down around true peaks above `peakDb` (dBTP), in all channels alike. The gain at a sample depends on the audio within
 * `LIMITER_REACH_SECONDS` of it and on nothing before: wherever a chunk begins, the result is the same.
 */
export const limitPeaks = (
  planes: readonly Float32Array[],
  sampleRate: number,
  peakDb: number,
): readonly Float32Array[] => {
  const wanted = findGains(planes, 10 ** (peakDb / 20));
  if (!wanted) return planes;
  const hold = Math.round(HOLD_SECONDS * sampleRate);
  // The lowest gain of the surroundings, smoothed twice over half of them: nowhere more than what the peak allows.
  const half = hold >> 1;
  const gains = smooth(smooth(lowestAround(wanted, 2 * half), half), half);
  return planes.map((plane) => plane.map((sample, i) => sample * (gains[i] as number)));
};

/** The gain that each sample and what lies beside it needs; undefined where none needs any. */
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

/** The lowest value within `reach` to both sides. */
const lowestAround = (values: Float64Array, reach: number): Float64Array => {
  const lowest = new Float64Array(values.length);
  // Positions of values that may become the lowest, ascending in both.
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

/** The mean of the values within `reach` to both sides; beyond the ends the last value continues. */
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
