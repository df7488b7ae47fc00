/**
 * Startup times are counted in buckets, of which each is 5 % longer than the one before, so that
 * percentiles of counts are within 2.5 %. `startupBucketSql` computes the bucket of a time.
 */
export const STARTUP_BUCKET_FACTOR = 1.05;

/** The middle of a bucket, in milliseconds. */
const middleOf = (bucket: number): number => Math.round(STARTUP_BUCKET_FACTOR ** (bucket + 0.5));

/** The time below which a share of the views started, in milliseconds; null without views. */
export const startupPercentile = (counts: ReadonlyMap<number, number>, share: number): number | null => {
  const buckets = [...counts].sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  for (const [bucket, count] of buckets) {
    below += count;
    if (below >= share * total) return middleOf(bucket);
  }
  return null;
};
