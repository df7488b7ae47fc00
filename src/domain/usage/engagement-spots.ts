/** Finds the parts of a video that viewers watch much more or less than the rest. */

/** How often viewers played each part of a video. */
export interface WatchedVideo {
  /** Views that played something of it. */
  readonly views: number;
  readonly durationMs: number;
  /** Of parts of equal length: 1 when every view played all of the part once. */
  readonly value: readonly number[];
}

/** Consecutive parts that all stand out. */
export interface Spot {
  /** Index of its first part, and of its last. */
  readonly first: number;
  readonly last: number;
  /** The rate that stands out most, as a share of the highest rate of the video. */
  readonly score: number;
}

/** With fewer parts, smoothing would make all of them alike. */
const MIN_SMOOTHED = 6;
/**
 * A hot spot has at least this many times the mean, and a cold one at most the mean divided by it.
 */
const FACTOR = 1.25;
/** Parts on each side that a part is averaged with, as a share of all. */
const RADIUS = 1 / 80;

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Each rate averaged with its neighbors, because single parts differ by chance. */
export const smoothRates = (rates: readonly number[]): readonly number[] => {
  if (rates.length < MIN_SMOOTHED) return rates;
  const radius = Math.max(Math.round(rates.length * RADIUS), 1);
  return rates.map((_, at) => meanOf(rates.slice(Math.max(at - radius, 0), at + radius + 1)));
};

/**
 * In the order of the video; empty when nothing was watched.
 * @param rates how often each part was watched, smoothed
 */
export const findSpots = (rates: readonly number[], kind: 'hot' | 'cold'): Spot[] => {
  const [mean, highest] = [meanOf(rates), Math.max(...rates)];
  if (!(highest > 0)) return [];
  const [standsOut, extreme] =
    kind === 'hot'
      ? [(rate: number) => rate >= FACTOR * mean, Math.max]
      : [(rate: number) => rate * FACTOR <= mean, Math.min];
  const spots: Spot[] = [];
  for (const [at, rate] of rates.entries()) {
    if (!standsOut(rate)) continue;
    const score = rate / highest;
    const open = spots.at(-1);
    if (open?.last === at - 1) spots[spots.length - 1] = { ...open, last: at, score: extreme(open.score, score) };
    else spots.push({ first: at, last: at, score });
  }
  return spots;
};
