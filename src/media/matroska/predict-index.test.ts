import { expect, test } from 'vitest';
import type { StreamIndex } from '../source/source-index.js';
import { predictIndex } from './predict-index.js';

const GOP = 250;
const GOPS = 800;
const CLUSTER_BYTES = 1_000_000;

const streamOf = (pts: readonly number[]): StreamIndex => ({
  pts: Float64Array.from(pts),
  key: Uint8Array.from(pts, (_, packet) => Number(packet % GOP === 0)),
  size: Uint32Array.from(pts, () => 3000),
  position: Float64Array.from(pts, (_, packet) => packet * 4000),
  lastDuration: 33,
});

/** More than an hour and a half whose first frame is at `startMs`, in whole milliseconds. */
const fileOf = (num: number, den: number, startMs = 0) => {
  const ticksPerFrame = num / den;
  const times = Array.from({ length: GOP * GOPS }, (_, frame) => Math.floor(startMs + (frame * num) / den + 0.5));
  const cues = Array.from({ length: GOPS }, (_, gop) => ({ ticks: times[gop * GOP]!, position: gop * CLUSTER_BYTES }));
  return {
    times,
    timing: { ticksPerFrame, cues },
    known: {
      head: { video: streamOf(times.slice(0, GOP)), discontinuous: false },
      tail: { video: streamOf(times.slice(-GOP)), discontinuous: false },
    },
  };
};

test.each([
  ['24', 1000, 24, 0],
  ['23.976', 1001, 24, 0],
  ['29.97', 1001, 30, 0],
  ['59.94, from the third frame of a clock', 1001, 60, (1001 / 60) * 2],
  ['29.97, from a whole millisecond', 1001, 30, 517],
  ['48, whose times end in half a millisecond', 1000, 48, 0],
  ['30, between two frames of a clock', 1000, 30, 12.25],
])('all times at %s frames per second', (_rate, num, den, startMs) => {
  const { times, timing, known } = fileOf(num, den, startMs);
  for (const bound of ['low', 'high'] as const) {
    const index = predictIndex(known, timing, bound);
    if (typeof index === 'string') throw new Error(index);
    expect([...index.video!.pts]).toEqual(times);
    expect(index.video!.key.filter(Boolean)).toHaveLength(GOPS);
  }
});

test('a dropped frame is noticed at the next key frame', () => {
  const { timing, known } = fileOf(1000, 30);
  const cues = timing.cues.map((cue, at) => (at < 400 ? cue : { ...cue, ticks: cue.ticks + 17 }));
  const tail = { video: streamOf([...known.tail.video.pts].map((ticks) => ticks + 17)), discontinuous: false };
  expect(predictIndex({ ...known, tail }, { ...timing, cues }, 'high')).toBe(
    'its frames do not have the constant rate that it declares',
  );
});

test('predicted frames have the bytes up to the next cue, less at the lower bound', () => {
  const { timing, known } = fileOf(1000, 30);
  const bytesOf = (bound: 'low' | 'high'): number => {
    const index = predictIndex(known, timing, bound);
    if (typeof index === 'string') throw new Error(index);
    return index.video!.size[GOP]!;
  };
  expect(bytesOf('high')).toBe(CLUSTER_BYTES);
  // The first group has 250,000 bytes of other streams.
  expect(bytesOf('low')).toBeGreaterThan(499_000);
  expect(bytesOf('low')).toBeLessThan(501_000);
});

test.each([1e9, 2 ** 60])('a last cue of %s ms is refused', (ticks) => {
  const { timing, known } = fileOf(1000, 30);
  const cues = [...timing.cues.slice(0, -1), { ...timing.cues.at(-1)!, ticks }];
  const tail = { video: streamOf([ticks]), discontinuous: false };
  expect(predictIndex({ ...known, tail }, { ...timing, cues }, 'high')).toBe('its times are too far apart');
});

test.each([
  ['packets of no length', { audioTicks: 1e-6 }],
  ['a late end', { audioTicks: 20, lastTicks: 2 ** 50 }],
])(
  'audio with %s is refused',
  (_title, { audioTicks, lastTicks = 6_000_000 }: { audioTicks: number; lastTicks?: number }) => {
    const { timing, known } = fileOf(1000, 30);
    const head = { ...known.head, audio: streamOf([0, 20, 40]) };
    const tail = { ...known.tail, audio: streamOf([lastTicks]) };
    expect(predictIndex({ head, tail, audioTicks }, timing, 'high')).toBe('its times are too far apart');
  },
);
