import { expect, test } from 'vitest';
import { isOpenKeyFrame } from './key-frame.js';
import type { LiveVideoCodec } from './stream-facts.js';

const units = (...headers: readonly number[]): Buffer =>
  Buffer.concat(headers.map((header) => Buffer.from([0, 0, 0, 3, header, 1, 0xff])));

test.each<[string, LiveVideoCodec, Buffer, boolean, boolean]>([
  ['an IDR picture of H.264', 'avc', units(6, 0x65), true, false],
  ['a recovery point of H.264', 'avc', units(6, 0x41), false, true],
  ['an IDR picture of HEVC', 'hevc', units(35 << 1, 19 << 1), true, false],
  ['a CRA picture of HEVC with leading pictures', 'hevc', units(21 << 1), true, true],
  ['a CRA picture of HEVC without them', 'hevc', units(21 << 1), false, false],
  ['a trailing picture of HEVC', 'hevc', units(1 << 1), false, true],
  ['AV1 behind a sequence header', 'av1', Buffer.from([0x0a, 1, 5, 0x32, 1, 7]), false, false],
  ['AV1 without one', 'av1', Buffer.from([0x32, 1, 7]), false, true],
])('%s', (_name, codec, data, hasLeading, isOpen) => {
  expect(isOpenKeyFrame(codec, data, hasLeading)).toBe(isOpen);
});
