import { expect, test } from 'vitest';
import { decodingStart, type LiveSegment } from './live-track.js';

const segments = (starts: string): LiveSegment[] =>
  [...starts].map((start, number) => ({
    number,
    startTicks: number * 90_000,
    durationTicks: 90_000,
    wallMs: 0,
    config: 0,
    discontinuity: start === 'D' || start === 'O',
    independent: start === 'k' || start === 'D',
    ...(['o', 'O'].includes(start) && { open: true as const }),
    parts: [],
    complete: true,
  }));

/** k: key frame, o: open key frame, -: neither; capitals behind a discontinuity. */
test.each([
  ['kkk', [0, 1, 2]],
  ['k--k-', [0, 0, 0, 3, 3]],
  // Frames before an open key frame need the segment before.
  ['kooo', [0, 0, 1, 2]],
  ['ko-o', [0, 0, 1, 1]],
  ['k-Do', [0, 0, 2, 2]],
  ['kOoo', [0, 1, 1, 2]],
  ['o-', [0, 0]],
])('decoding of %s starts at %j', (starts, expected) => {
  const list = segments(starts);
  expect(list.map((_, at) => decodingStart(list, at))).toEqual(expected);
  // What does not exist yet is where decoding will start.
  expect(decodingStart(list, list.length)).toBe(list.length);
});
