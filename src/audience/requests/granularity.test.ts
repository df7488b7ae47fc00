import { expect, it } from 'vitest';
import { granularityOf, intervalCount, intervalStarts } from './granularity.js';

const HOUR = 3600;

it.each([
  [60, 'minute'],
  [90 * 60 - 1, 'minute'],
  [90 * 60, 'ten_minutes'],
  [6 * HOUR - 1, 'ten_minutes'],
  [6 * HOUR, 'hour'],
  [15 * 24 * HOUR, 'hour'],
  [15 * 24 * HOUR + 1, 'day'],
])('a time frame of %i seconds has intervals of a %s', (length, granularity) => {
  expect(granularityOf([1000, 1000 + length])).toBe(granularity);
});

it('lists every interval that overlaps the time frame', () => {
  const midnight = 1_772_582_400;
  expect(intervalStarts([midnight + 59, midnight + 121], 'minute')).toEqual([midnight, midnight + 60, midnight + 120]);
  expect(intervalStarts([midnight, midnight + 1200], 'ten_minutes')).toEqual([midnight, midnight + 600]);
  expect(intervalStarts([midnight - 1, midnight + 1], 'day')).toEqual([midnight - 86_400, midnight]);
  expect(intervalStarts([-90, -30], 'minute')).toEqual([-120, -60]);
  expect(intervalCount([0, 999_999_999_999_999], 'day')).toBe(11_574_074_075);
});
