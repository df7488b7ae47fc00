import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOMINAL_RATES } from '../source/frames.js';
import { FrameGrid, LIVE_TIMESCALE, TICKS_PER_MS, toFrameRate } from './frame-grid.js';

const rates = fc.constantFrom(...NOMINAL_RATES);
const roundings = fc.constantFrom(Math.round, Math.floor, Math.ceil);
const exactTicks = (frame: number, { num, den }: (typeof NOMINAL_RATES)[number]): number =>
  (frame * LIVE_TIMESCALE * den) / num;

test.each([
  [29.97, { num: 30_000, den: 1001 }],
  [23.976, { num: 24_000, den: 1001 }],
  [60, { num: 60, den: 1 }],
  [27.5, { num: 27_500, den: 1000 }],
  [0.5, undefined],
  [Number.NaN, undefined],
  [1000, undefined],
])('a declared rate of %d', (declared, rate) => {
  expect(toFrameRate(declared)).toEqual(rate);
});

describe('times in whole milliseconds', () => {
  test('become those of the declared rate, however they were rounded', () => {
    fc.assert(
      fc.property(rates, roundings, fc.integer({ min: 1, max: 500 }), (rate, round, frames) => {
        const grid = new FrameGrid(rate);
        const { num, den } = rate;
        for (let frame = 0; frame < frames; frame += 1) {
          // Counted from the first frame, which has the time 0.
          const ms = round((frame * 1000 * den) / num);
          expect(Math.abs(grid.next(ms) - exactTicks(frame, rate))).toBeLessThanOrEqual(0.5);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('follow the encoder when frames are missing, and when it declares no rate or a wrong one', () => {
    const declared = fc.option(rates, { nil: undefined });
    const kept = fc.array(fc.boolean(), { minLength: 60, maxLength: 300 });
    fc.assert(
      fc.property(declared, rates, kept, (wrong, rate, frames) => {
        const grid = new FrameGrid(wrong);
        let last = -1;
        frames.forEach((isKept, frame) => {
          if (!isKept && frame > 0) return;
          const ms = Math.round((frame * 1000 * rate.den) / rate.num);
          const ticks = grid.next(ms);
          expect(Math.abs(ticks - ms * TICKS_PER_MS)).toBeLessThanOrEqual(2.01 * TICKS_PER_MS);
          expect(ticks).toBeGreaterThan(last);
          last = ticks;
        });
      }),
      { numRuns: 200 },
    );
  });

  test('tell the rate after two seconds', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const grid = new FrameGrid(undefined);
        for (let frame = 0; frame < 60; frame += 1) grid.next(Math.round((frame * 1000 * rate.den) / rate.num));
        const measured = grid.rate!.num / grid.rate!.den;
        expect(Math.abs(measured / (rate.num / rate.den) - 1)).toBeLessThan(0.0015);
      }),
    );
  });
});
