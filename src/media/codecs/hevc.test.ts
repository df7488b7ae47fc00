import { describe, expect, test } from 'vitest';
import { isCraFrame, isIrapFrame, listHvccSequences, readHvcc, withoutHevcDelimiters } from './hevc.js';

/**
 * Version, profile, compatibility, constraints, level, the fixed part, then arrays of units of one
 * byte each.
 */
const hvcc = (start: string, arrays: readonly number[]): Buffer =>
  Buffer.concat([
    Buffer.from(start, 'hex'),
    Buffer.from('f000fcfdf8f800000f', 'hex'),
    Buffer.from([arrays.length]),
    ...arrays.map((type) => Buffer.from([0x80 | type, 0, 1, 0, 1, 0xaa])),
  ]);
const unit = (type: number): Buffer => Buffer.from([0, 0, 0, 3, type << 1, 1, 0xff]);

describe('readHvcc', () => {
  test.each([
    ['01016000000090000000000078', 'hvc1.1.6.L120.90'],
    ['010220000000b0000000000099', 'hvc1.2.4.L153.B0'],
    ['01216000000000000000000096', 'hvc1.1.6.H150'],
    ['01446000000090000100000078', 'hvc1.A4.6.L120.90.0.1'],
  ])('%s is %s', (start, codecs) => {
    expect(readHvcc(hvcc(start, [32, 33, 34]))).toMatchObject({ codecs, lengthBytes: 4, spsCount: 1 });
  });

  test('counts sequence parameter sets and refuses what is cut', () => {
    const whole = hvcc('01016000000090000000000078', [32, 33, 33, 34]);
    expect(readHvcc(whole)?.spsCount).toBe(2);
    for (let length = 0; length < whole.length; length += 1)
      expect(readHvcc(whole.subarray(0, length))).toBeUndefined();
    expect(readHvcc(Buffer.from(whole).fill(0, 0, 1))).toBeUndefined();
  });
});

test('the profile, the level and the parameter sets of a record are found', () => {
  const record = hvcc('010220000000b0000000000099', [32, 33, 34]);
  expect(readHvcc(record)).toMatchObject({ profile: 2, level: 153 });
  expect(listHvccSequences(record)).toEqual([Buffer.from([0xaa])]);
  expect(listHvccSequences(record.subarray(0, -1))).toEqual([]);
});

test('a clean random access picture is told from the others', () => {
  expect([19, 20, 21, 1].map((type) => isCraFrame(Buffer.concat([unit(35), unit(type)])))).toEqual([
    false,
    false,
    true,
    false,
  ]);
});

test('decoding starts with pictures of the types 16 to 21, behind whatever stands before them', () => {
  const begins = (type: number) => isIrapFrame(Buffer.concat([unit(35), unit(32), unit(type)]));
  expect([15, 16, 19, 20, 21, 22].map(begins)).toEqual([false, true, true, true, true, false]);
});

test('access-unit delimiters are dropped', () => {
  const kept = Buffer.concat([unit(32), unit(19)]);
  expect(withoutHevcDelimiters(kept)).toBe(kept);
  expect(Buffer.from(withoutHevcDelimiters(Buffer.concat([unit(35), kept])))).toEqual(kept);
});
