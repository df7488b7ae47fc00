import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countFrames, planGrid, planKeyFrameGrid } from './grid.js';

const steady = (count: number, ticks: number): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => i * ticks);

describe('planGrid', () => {
  test('gives whole frames at 29.97 a second: 30, 90, then 120 of them, 4.004 s', () => {
    const frameTicks = steady(450, 1001);
    const boundaries = planGrid({ frameTicks, endTicks: 450 * 1001, timescale: 30_000 });
    expect(boundaries).toEqual([0, 30_030, 120_120, 240_240, 360_360, 450_450]);
    expect(countFrames(frameTicks, boundaries)).toEqual([30, 90, 120, 120, 90]);
  });
  test('keeps 4 s on average at 24 a second', () => {
    expect(planGrid({ frameTicks: steady(480, 512), endTicks: 480 * 512, timescale: 12_288 })).toEqual([
      0, 12_288, 49_152, 98_304, 147_456, 196_608, 245_760,
    ]);
  });
  test('joins a tail below 2 s and keeps one of 2 s', () => {
    const end = (seconds: number) =>
      planGrid({ frameTicks: steady(seconds * 10, 100), endTicks: seconds * 1000, timescale: 1000 });
    expect(end(9.9)).toEqual([0, 1000, 4000, 9900]);
    expect(end(10)).toEqual([0, 1000, 4000, 8000, 10_000]);
    expect(end(3)).toEqual([0, 1000, 3000]);
    expect(end(2.9)).toEqual([0, 2900]);
    expect(end(5.9)).toEqual([0, 1000, 5900]);
    expect(end(6)).toEqual([0, 1000, 4000, 6000]);
  });
  test('takes rounded milliseconds as the frames they are', () => {
    // 30 a second in whole ms: frame 120 is at 4000, 118 at 3933, 119 at 3967
    const frameTicks = Float64Array.from({ length: 300 }, (_, i) => Math.round((i * 1000) / 30));
    expect(planGrid({ frameTicks, endTicks: 10_000, timescale: 1000 })).toEqual([0, 1000, 4000, 8000, 10_000]);
    // Frame 100 comes 3 ms early: less than half a frame, so it still begins the segment.
    const early = Float64Array.from({ length: 250 }, (_, i) => i * 40 - (i === 100 ? 3 : 0));
    expect(planGrid({ frameTicks: early, endTicks: 10_000, timescale: 1000 })[2]).toBe(3997);
  });
  test('repeats the last frame once a second for longer audio', () => {
    const boundaries = planGrid({ frameTicks: steady(50, 40), endTicks: 20_000, timescale: 1000 });
    // Last frame at 1960, repeats at 2960, 3960 … 19,960; half a frame is 20 ms, so 3960 is before
    // the mark.
    expect(boundaries).toEqual([0, 1000, 4960, 8960, 12_960, 16_960, 20_000]);
  });
  test('lasts as long as a rare frame', () => {
    const frameTicks = Float64Array.of(0, 9000, 21_000, 21_500);
    expect(planGrid({ frameTicks, endTicks: 24_000, timescale: 1000 })).toEqual([0, 9000, 21_000, 24_000]);
  });
  test('holds for every source: starts, ends, grows, begins at frames, 1 s at least', () => {
    const source = fc.tuple(
      fc.array(fc.integer({ min: 1, max: 3000 }), { maxLength: 200 }),
      fc.integer({ min: 1, max: 9000 }),
    );
    fc.assert(
      fc.property(source, ([deltas, rest]) => {
        const times = [0];
        for (const delta of deltas) times.push(times.at(-1)! + delta);
        const last = times.at(-1)!;
        const endTicks = last + rest;
        const boundaries = planGrid({ frameTicks: Float64Array.from(times), endTicks, timescale: 1000 });
        expect([boundaries[0], boundaries.at(-1)]).toEqual([0, endTicks]);
        const lengths = boundaries.slice(1).map((end, index) => end - boundaries[index]!);
        if (lengths.length > 1) {
          for (const length of lengths) expect(length).toBeGreaterThanOrEqual(1000);
          expect(lengths.at(-1)).toBeGreaterThanOrEqual(2000);
        }
        for (const boundary of boundaries.slice(0, -1)) {
          expect(times.includes(boundary) || (boundary > last && (boundary - last) % 1000 === 0)).toBe(true);
        }
        expect(countFrames(Float64Array.from(times), boundaries).reduce((a, b) => a + b)).toBe(times.length);
      }),
    );
  });
});

describe('planKeyFrameGrid', () => {
  const grid = (keySeconds: number[], endSeconds: number): number[] | undefined =>
    planKeyFrameGrid(
      Float64Array.from(keySeconds, (s) => s * 1000),
      endSeconds * 1000,
      1000,
    )?.map((t) => t / 1000);

  test('takes the key frame nearest to each mark', () => {
    expect(grid([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 12)).toEqual([0, 1, 4, 8, 12]);
    expect(grid([0, 5, 10, 15, 20], 24)).toEqual([0, 5, 10, 15, 20, 24]);
    expect(grid([0, 2.5, 5.1, 7.5, 10], 12)).toEqual([0, 5.1, 7.5, 12]);
  });
  test('joins a short tail as long as 8 s allow', () => {
    expect(grid([0, 4, 8], 9)).toEqual([0, 4, 9]);
    expect(grid([0, 2, 4, 6, 8], 9)).toEqual([0, 2, 4, 9]);
    expect(grid([0, 7, 14], 15)).toEqual([0, 7, 15]);
    expect(grid([0, 7.5, 15], 15.9)).toBeUndefined();
  });
  test('gives up on key frames that are too far apart', () => {
    expect(grid([0, 10, 20], 24)).toBeUndefined();
    expect(grid([0], 8.1)).toBeUndefined();
    expect(grid([0], 8)).toEqual([0, 8]);
  });
  test('has no short first segment where the key frames are too close for it', () => {
    expect(grid([0, 0.9, 4, 8], 12)).toEqual([0, 4, 8, 12]);
    expect(grid([0, 1.5, 2.4, 8], 12)).toEqual([0, 2.4, 8, 12]);
  });
  test('takes a very short source as one segment', () => {
    expect(grid([0], 0.4)).toEqual([0, 0.4]);
  });
});
