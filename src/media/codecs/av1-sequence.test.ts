import { describe, expect, test } from 'vitest';
import { findSequenceHeader, writeAv1c } from './av1.js';
import { readAv1Format, readAv1Sequence } from './av1-sequence.js';

/** Bits with the most significant one first. */
const bytesOf = (...fields: readonly (readonly [value: number, bits: number])[]): Uint8Array => {
  const text = fields.map(([value, bits]) => value.toString(2).padStart(bits, '0')).join('');
  return Uint8Array.from(text.match(/.{1,8}/g)!, (byte) => Number.parseInt(byte.padEnd(8, '0'), 2));
};
const size = [
  [10, 4],
  [9, 4],
  [1279, 11],
  [719, 10],
] as const;

describe('a sequence header of AV1', () => {
  test.each([
    ['81000c000a0e000000043cfecc02f81010101040', 320, 180],
    ['81040c000a0e00000024c6abdf00be0404040410', 854, 480],
  ])('of libaom says %s', (record, width, height) => {
    const header = findSequenceHeader(Buffer.from(record, 'hex'))!;
    expect(readAv1Sequence(header)).toEqual({ width, height });
    for (let length = 0; length < 7; length += 1) expect(readAv1Sequence(header.subarray(0, length))).toBeUndefined();
  });

  test('has a frame rate, behind which a decoder model and several operating points may stand', () => {
    const header = bytesOf(
      [0, 5],
      [1, 1],
      [1001, 32],
      [60_000, 32],
      // Two ticks for each picture: 010 is 1.
      [1, 1],
      [0b010, 3],
      [1, 1],
      [9, 5],
      [90_000, 32],
      [0, 10],
      [1, 1],
      [1, 5],
      // The first point has a tier, a decoder model and a delay.
      [0, 12],
      [8, 5],
      [1, 1],
      [1, 1],
      [1000, 10],
      [1000, 10],
      [0, 1],
      [1, 1],
      [3, 4],
      [0, 12],
      [5, 5],
      [0, 1],
      [0, 1],
      ...size,
    );
    expect(readAv1Sequence(header)).toEqual({ width: 1280, height: 720, frameRate: { num: 60_000, den: 2002 } });
  });

  test('of a still picture has the level alone', () => {
    expect(readAv1Sequence(bytesOf([0, 3], [1, 1], [1, 1], [5, 5], ...size))).toEqual({ width: 1280, height: 720 });
  });
});

test('a record without a header, or with a damaged one, has none', () => {
  for (const record of ['81040c00', '81040c000a8f', '81040c001200'])
    expect(findSequenceHeader(Buffer.from(record, 'hex'))).toBeUndefined();
});

test('the format of a header is what its record repeats', () => {
  for (const record of ['81040c000a0e00000024c6abdf00be0404040410', '81000c000a0e000000043cfecc02f81010101040']) {
    const bytes = Buffer.from(record, 'hex');
    const written = writeAv1c(bytes.subarray(4))!;
    expect(Buffer.from(written).toString('hex')).toBe(record);
  }
  // Not a whole header, and the header of a still picture.
  expect(writeAv1c(Buffer.from('0a0e000000', 'hex'))).toBeUndefined();
  expect(readAv1Format(bytesOf([0, 3], [1, 1], [1, 1], [5, 5], ...size))).toBeUndefined();
});
