import { expect, test } from 'vitest';
import { startupBuckets, startupHistogram } from './startup-histogram.js';

test('startup times are counted in buckets, each with its share', () => {
  const histogram = startupHistogram([12_000, 99, 100, 499, 10_000, 1500, 0, 2000]);
  expect(histogram.bucket_values.map(({ count }) => count)).toEqual([2, 2, 0, 1, 1, 0, 2]);
  expect(histogram.bucket_values[0]!.percentage).toBe(0.25);
  expect(histogram).toMatchObject({ max_percentage: 0.25, sum: 8, median: 499, p95: 12_000 });
  expect(histogram.average).toBe((12_000 + 99 + 100 + 499 + 10_000 + 1500 + 2000) / 8);
});

test('without startups there is no average', () => {
  const empty = { count: 0, percentage: 0 };
  expect(startupHistogram([])).toEqual({
    bucket_values: startupBuckets.map(() => empty),
    ...{ max_percentage: 0, sum: 0, average: null, median: null, p95: null },
  });
});
