import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findReorderTicks, planSampleTimes } from './sample-times.js';

describe('planSampleTimes', () => {
  test('raises the offsets of reordered samples', () => {
    // I P B B, 512 ticks apart, displayed as I B B P
    expect(planSampleTimes([0, 1536, 512, 1024], 0, 2048, 512)).toEqual([
      { durationTicks: 512, compositionOffsetTicks: 512 },
      { durationTicks: 512, compositionOffsetTicks: 1536 },
      { durationTicks: 512, compositionOffsetTicks: 0 },
      { durationTicks: 512, compositionOffsetTicks: 0 },
    ]);
  });
  test('lengthens a late first frame back to the start and the last to the end', () => {
    expect(planSampleTimes([1100, 2000], 1000, 5000)).toEqual([
      { durationTicks: 1000, compositionOffsetTicks: 0 },
      { durationTicks: 3000, compositionOffsetTicks: 0 },
    ]);
  });
  test('gives each sample the time for which its frame is displayed, whatever the decode order', () => {
    // The last frame displayed, at 83, is the second decoded; the others last 40, 3 and 40.
    const times = planSampleTimes([0, 83, 40, 43], 0, 1000, 957);
    expect(times.map(({ durationTicks }) => durationTicks)).toEqual([40, 917, 3, 40]);
  });
  test('shortens samples that a frame displayed earlier would otherwise come too late for', () => {
    expect(planSampleTimes([0, 83, 40, 43], 0, 1000, 50)).toEqual([
      { durationTicks: 40, compositionOffsetTicks: 50 },
      { durationTicks: 50, compositionOffsetTicks: 93 },
      { durationTicks: 3, compositionOffsetTicks: 0 },
      { durationTicks: 907, compositionOffsetTicks: 0 },
    ]);
  });
  test('refuses times that repeat or lie outside', () => {
    expect(() => planSampleTimes([0, 512, 512], 0, 1024)).toThrow('must differ');
    expect(() => planSampleTimes([0, 512], 0, 512)).toThrow('must differ');
    expect(() => planSampleTimes([0, 512], 600, 1024)).toThrow('must differ');
  });
  test('reproduces every set of times in any order, and ends where the segment ends', () => {
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 5000 }), (pts, rest) => {
        const start = Math.min(...pts);
        const end = Math.max(...pts) + rest;
        const reorder = findReorderTicks(pts, start, end);
        const samples = planSampleTimes(pts, start, end, reorder);
        let decode = start;
        const displayed = samples.map(({ durationTicks, compositionOffsetTicks }) => {
          const time = decode + compositionOffsetTicks - reorder;
          decode += durationTicks;
          expect(compositionOffsetTicks).toBeGreaterThanOrEqual(0);
          expect(time + durationTicks).toBeLessThanOrEqual(end);
          return time;
        });
        expect(displayed).toEqual(pts);
        expect(decode).toBe(end);
      }),
    );
  });
});

test('findReorderTicks is the time for which a frame precedes those displayed before it', () => {
  expect(findReorderTicks([0, 512, 1024], 0, 1536)).toBe(0);
  expect(findReorderTicks([0, 1536, 512, 1024], 0, 2048)).toBe(512);
});
