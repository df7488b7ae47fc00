import { expect, it } from 'vitest';
import { opusSamples } from './opus.js';

it.each([
  ['SILK, 60 ms', [3 << 3], 2880],
  ['hybrid, 10 ms', [12 << 3], 480],
  ['CELT, 2.5 ms', [16 << 3], 120],
  ['CELT, 20 ms, two frames', [(31 << 3) | 1], 1920],
  ['CELT, 5 ms, three frames', [(17 << 3) | 3, 3], 720],
  ['an empty packet', [], 0],
])('tells the duration of a packet: %s', (_name, bytes, samples) => {
  expect(opusSamples(Uint8Array.from(bytes))).toBe(samples);
});
