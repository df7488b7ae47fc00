import { expect, it } from 'vitest';
import { MAX_ATTEMPTS, retryPauseMs } from './retry-timetable.js';

it('spreads sixteen attempts over about 23 hours', () => {
  const pauses = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, at) => retryPauseMs(at + 1, 1)! / 1000);
  expect(pauses).toEqual([15, 30, 60, 120, 300, 600, 1200, 2400, 3600, 7200, 10_800, 14_400, 14_400, 14_400, 14_400]);
  expect(pauses.reduce((sum, pause) => sum + pause, 0) / 3600).toBeCloseTo(23.3, 1);
  expect(retryPauseMs(MAX_ATTEMPTS)).toBeUndefined();
});

it('varies each pause by up to a tenth', () => {
  const pauses = Array.from({ length: 1000 }, () => retryPauseMs(1)! / 1000);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(13.5);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(16.5);
  expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(2);
});
