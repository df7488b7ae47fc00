/** Bounds of the histogram of startup times, in milliseconds; the last bucket has no end. */
export const startupBuckets = [
  { start: 0, end: 100 },
  { start: 100, end: 500 },
  { start: 500, end: 1000 },
  { start: 1000, end: 2000 },
  { start: 2000, end: 5000 },
  { start: 5000, end: 10_000 },
  { start: 10_000, end: null },
] as const;

export interface StartupHistogram {
  /** Of each bucket: startups, and their share of all. */
  readonly bucket_values: readonly { readonly count: number; readonly percentage: number }[];
  /** The largest share. */
  readonly max_percentage: number;
  /** Number of startups. */
  readonly sum: number;
  readonly average: number | null;
  readonly median: number | null;
  readonly p95: number | null;
}

/** The smallest value that at least `share` of all do not exceed. */
const quantile = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? null;

/** @param times in milliseconds, in any order */
export const startupHistogram = (times: readonly number[]): StartupHistogram => {
  const sorted = [...times].sort((a, b) => a - b);
  const sum = sorted.length;
  const counts = startupBuckets.map(
    ({ start, end }) => sorted.filter((time) => time >= start && (end === null || time < end)).length,
  );
  const values = counts.map((count) => ({ count, percentage: sum === 0 ? 0 : count / sum }));
  return {
    bucket_values: values,
    max_percentage: Math.max(...values.map(({ percentage }) => percentage)),
    sum,
    average: sum === 0 ? null : sorted.reduce((total, time) => total + time, 0) / sum,
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
  };
};
