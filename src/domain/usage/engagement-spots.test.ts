import { expect, test } from 'vitest';
import { findSpots, smoothRates } from './engagement-spots.js';

test('parts far above the mean are hot, those far below are cold', () => {
  const rates = [1, 1, 4, 3, 1, 0.5, 0, 1];
  expect(findSpots(rates, 'hot')).toEqual([{ first: 2, last: 3, score: 1 }]);
  expect(findSpots(rates, 'cold')).toEqual([
    { first: 0, last: 1, score: 0.25 },
    { first: 4, last: 7, score: 0 },
  ]);
});

test.each([[[]], [[0, 0, 0]], [[2, 2, 2, 2]]])('nothing stands out in %j', (rates) => {
  expect([findSpots(rates, 'hot'), findSpots(rates, 'cold')]).toEqual([[], []]);
});

test('rates are averaged with their neighbors, more of them in longer videos', () => {
  expect(smoothRates([0, 3, 0, 0, 0, 0])).toEqual([1.5, 1, 1, 0, 0, 0]);
  expect(smoothRates([0, 3, 0])).toEqual([0, 3, 0]);
  const peak = Array.from({ length: 240 }, (_, at) => (at === 100 ? 7 : 0));
  expect(smoothRates(peak).filter((rate) => rate > 0)).toEqual([1, 1, 1, 1, 1, 1, 1]);
});
