import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PacketTimes, repairTimestamps } from './repair-timestamps.js';

const TICKS = 90_000;
const STEP = 3000;

/** I, then repeated P B B: both B-frames are displayed before their P. */
const frames = (count: number, from = 0): { dts: number[]; pts: number[] } => {
  const dts = Array.from({ length: count }, (_, packet) => from + packet * STEP);
  const pts = dts.map((time, packet) => time + (packet === 0 ? STEP : packet % 3 === 1 ? 3 * STEP : 0));
  return { dts, pts };
};
const audio = (count: number, from = 0): { dts: number[]; pts: number[] } => {
  const dts = Array.from({ length: count }, (_, packet) => from + packet * 1920);
  return { dts, pts: [...dts] };
};
const repair = (times: PacketTimes) => {
  const { recording, dts, pts, ...rest } = repairTimestamps(times, TICKS);
  return { ...rest, recording: [...recording], dts: [...dts], pts: [...pts] };
};
const intact = (times: PacketTimes) => ({
  ...times,
  wrong: 0,
  recordings: 1,
  recording: times.dts.map(() => 0),
});

describe('times that are right stay', () => {
  test.each([
    ['frames', frames(100)],
    ['audio', audio(100)],
    ['a hole of 9 s', { dts: [0, STEP, 9 * TICKS, 9 * TICKS + STEP], pts: [0, STEP, 9 * TICKS, 9 * TICKS + STEP] }],
    ['one frame every 8 s', { dts: [0, 8, 16, 24].map((s) => s * TICKS), pts: [0, 8, 16, 24].map((s) => s * TICKS) }],
    [
      'one frame every 12 s',
      { dts: [0, 12, 24, 36].map((s) => s * TICKS), pts: [0, 12, 24, 36].map((s) => s * TICKS) },
    ],
    ['nothing', { dts: [], pts: [] }],
    ['no decode times', { dts: [Number.NaN, Number.NaN], pts: [3000, 0] }],
  ])('%s', (_name, times) => {
    expect(repair(times)).toEqual(intact(times));
  });
});

test('a single wrong time, anywhere and however wrong, gets back what it was', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(frames(79), audio(79)),
      fc.nat(78),
      fc.constantFrom('both', 'pts', 'dts'),
      fc.integer({ min: 2 * TICKS, max: 2 ** 33 }),
      fc.boolean(),
      (times, packet, field, size, back) => {
        const wrong = { dts: [...times.dts], pts: [...times.pts] };
        const add = back ? -size : size;
        if (field !== 'pts') wrong.dts[packet]! += add;
        if (field !== 'dts') wrong.pts[packet]! += add;
        const fixed = repairTimestamps(wrong, TICKS);
        // At either end, a decode time up to 10 s away from the others can't be told apart from a
        // gap.
        if (packet === (back ? 0 : 78) && field !== 'pts' && size <= 10 * TICKS) return;
        expect(fixed).toMatchObject({ wrong: 1, recordings: 1 });
        expect([...fixed.dts]).toEqual(times.dts);
        expect([...fixed.pts]).toEqual(times.pts);
      },
    ),
  );
});

test('a run of audio in one packet whose time is wrong goes back to its place', () => {
  const times = audio(200);
  const wrong = times.dts.map((time, packet) => (packet >= 90 && packet < 98 ? time + 3600 * TICKS : time));
  expect(repair({ dts: wrong, pts: wrong })).toMatchObject({ wrong: 8, recordings: 1, ...times });
});

describe('a clock that jumps', () => {
  test.each([
    ['back', 0],
    ['forward', 3600 * TICKS],
  ])('%s begins another recording, with a wrong time beside the jump or without', (_name, from) => {
    const [first, second] = [frames(61), frames(61, from)];
    const times = { dts: [...first.dts, ...second.dts], pts: [...first.pts, ...second.pts] };
    const recording = times.dts.map((_, packet) => (packet < 61 ? 0 : 1));
    expect(repair(times)).toEqual({ ...times, wrong: 0, recordings: 2, recording });
    const wrong = { dts: [...times.dts], pts: [...times.pts] };
    wrong.dts[57]! += 50_000 * TICKS;
    expect(repair(wrong)).toEqual({ ...times, wrong: 1, recordings: 2, recording });
  });
});

test('decode times grow even where the stream repeats them', () => {
  const { dts } = repair({ dts: [0, 0, 3000, 3000, 6000], pts: [0, 0, 3000, 3000, 6000] });
  expect(dts).toEqual([0, 1, 3000, 3001, 6000]);
});
