import { expect, it } from 'vitest';
import { RecordingLimits } from './recording-limits.js';

it('allows segments at the rate of real time, from the number with which it begins', () => {
  let nowMs = 5000;
  const limits = new RecordingLimits({ now: () => new Date(0), monotonicMs: () => nowMs }, 1000);
  const lastAllowed = (): number => {
    let segment = 1000;
    while (limits.allowsPart({ segment: segment + 1, part: 0 }, 1000)) segment += 1;
    return segment - 1000;
  };
  const atOnce = lastAllowed();
  expect(atOnce).toBeGreaterThan(200);
  nowMs += 60_000;
  // Mode `low` has a segment a second, and each reconnect may add one.
  expect(lastAllowed() - atOnce).toBe(240);
});

it('allows no segment without an end, and no endless changes of the configuration', () => {
  const limits = new RecordingLimits({ now: () => new Date(0), monotonicMs: () => 0 }, 0);
  expect(limits.allowsPart({ segment: 0, part: 30 }, 100 * 2 ** 20)).toBe(true);
  expect(limits.allowsPart({ segment: 0, part: 500 }, 100)).toBe(false);
  expect(limits.allowsPart({ segment: 0, part: 30 }, 2 ** 30)).toBe(false);
  expect(limits.allowsConfig(50)).toBe(true);
  expect(limits.allowsConfig(100)).toBe(false);
});
