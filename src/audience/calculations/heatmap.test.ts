import { expect, test } from 'vitest';
import { countBuckets, findHotspots, Heatmap } from './heatmap.js';

test.each([
  [0, 10],
  [4000, 10],
  [60_000, 60],
  [60_001, 61],
  [7_200_000, 1000],
])('%d ms have %d buckets', (durationMs, buckets) => {
  expect(countBuckets(durationMs)).toBe(buckets);
});

test('a value is how often a view played the bucket', () => {
  const heatmap = new Heatmap(20_000);
  heatmap.add([[0, 20_000]]);
  heatmap.add([
    [0, 1500],
    [500, 2000],
  ]);
  expect(heatmap.values()).toEqual([1.25, 1.25, ...Array.from({ length: 18 }, () => 0.5)]);
  expect(heatmap.views).toBe(2);
});

test('nothing outside of the video counts, and no view that played nothing', () => {
  const heatmap = new Heatmap(10_000);
  expect(heatmap.values()).toEqual(Array.from({ length: 10 }, () => 0));
  heatmap.add([
    [-5000, 1000],
    [9000, 99_000],
    [7000, 6000],
    [Number.NaN, 3000],
  ]);
  heatmap.add([]);
  heatmap.add([[20_000, 30_000]]);
  expect(heatmap.values()).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect(heatmap.views).toBe(1);
});

test('hotspots are the parts that stand out, most or least played first', () => {
  const values = Array.from({ length: 60 }, (_, at) => (at >= 30 && at < 36 ? 3 : at >= 50 ? 0.1 : 1));
  const hot = findHotspots(values, 120_000, 'desc');
  expect(hot).toMatchObject([{ start_ms: 58_000, end_ms: 74_000, score: 1 }]);
  const cold = findHotspots(values, 120_000, 'asc');
  expect(cold).toMatchObject([{ start_ms: 98_000, end_ms: 120_000, score: 0.0333 }]);
  expect(findHotspots([], 0, 'desc')).toEqual([]);
});
