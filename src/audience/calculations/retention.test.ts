import { expect, it } from 'vitest';
import type { ViewRange } from '../../db/schema.js';
import { Retention } from './retention.js';

const pointsOf = (durationMs: number, ...views: readonly (readonly ViewRange[])[]) => {
  const retention = new Retention(durationMs);
  for (const ranges of views) retention.add(ranges);
  return retention.points();
};

it('counts a view once where it played, however often, and plays as often as it did', () => {
  const points = pointsOf(
    10_000,
    [[0, 10_000]],
    [
      [0, 3000],
      [2000, 3000],
      [2000, 2500],
    ],
    [[7500, 20_000]],
    [],
  );
  expect(points.map(({ timeMs }) => timeMs)).toEqual([0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000]);
  const third = (count: number) => expect.closeTo(count / 3, 3);
  expect(points.map(({ watching }) => watching)).toEqual([2, 2, 2, 1, 1, 1, 1, 2, 2, 2].map(third));
  expect(points.map(({ plays }) => plays)).toEqual([2, 2, 3.5, 1, 1, 1, 1, 1.5, 2, 2].map(third));
});

it('is empty without views', () => {
  const points = pointsOf(5000);
  expect(points).toHaveLength(10);
  expect(points.every(({ watching, plays }) => watching === 0 && plays === 0)).toBe(true);
});
