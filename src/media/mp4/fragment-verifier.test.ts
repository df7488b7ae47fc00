import { describe, expect, test } from 'vitest';
import { KinoraError } from '../../lib/errors.js';
import { verifyFragment, verifyInit } from './fragment-verifier.js';

/**
 * Two samples of 3 and 1 bytes at 1000, 512 + 513 ticks, the second displayed 2 ticks earlier;
 * written by hand.
 */
const FRAGMENT = [
  '00000014' + '73747970' + '6d736468' + '00000000' + '6d736468',
  '00000078' + '6d6f6f66',
  '00000010' + '6d666864' + '00000000' + '00000001',
  '00000060' + '74726166',
  '00000010' + '74666864' + '00020000' + '00000001',
  '00000014' + '74666474' + '01000000' + '00000000000003e8',
  '00000034' + '7472756e' + '01000f01' + '00000002' + '00000080',
  '00000200' + '00000003' + '02000000' + '00000000',
  '00000201' + '00000001' + '01010000' + 'fffffffe',
  '0000000c' + '6d646174' + '01020304',
];
const EXPECTED = { baseDecodeTicks: 1000, durationTicks: 1025, sampleCount: 2, firstSync: true };
const parse = (parts: readonly string[]): Uint8Array => Buffer.from(parts.join(''), 'hex');

const reasonOf = (check: () => unknown): unknown => {
  try {
    check();
  } catch (error) {
    if (error instanceof KinoraError && error.code === 'media_failed') return error.details?.reason;
    throw error;
  }
  return 'accepted';
};

describe('verifyFragment', () => {
  test('accepts what is as planned', () => {
    expect(verifyFragment(parse(FRAGMENT), EXPECTED)).toBe(2);
  });

  test.each([
    ['base decode time', { baseDecodeTicks: 999 }, 'the base decode time is 1000, expected 999'],
    ['duration', { durationTicks: 2000 }, 'the duration is 1025, expected 2000'],
    ['sample count', { sampleCount: 3 }, 'the number of samples is 2, expected 3'],
  ])('refuses another %s', (_, change, reason) => {
    expect(reasonOf(() => verifyFragment(parse(FRAGMENT), { ...EXPECTED, ...change }))).toBe(reason);
  });

  test.each([
    [
      'a first sample that is no key frame',
      7,
      '00000003' + '02000000',
      '00000003' + '01010000',
      'the first sample is not a sync sample',
    ],
    ['an empty sample', 8, '00000001' + '01010000', '00000000' + '01010000', 'a sample is empty'],
    ['a sample without duration', 8, '00000201', '00000000', 'a sample has no duration'],
    ['a frame before the start', 8, 'fffffffe', 'fffffd00', 'the first presentation time is 744, expected 1000'],
    ['a frame after the end', 8, 'fffffffe', '00000201', 'a sample is shown after the end'],
    ['two frames at one time', 8, 'fffffffe', 'fffffe00', 'the number of presentation times is 1, expected 2'],
    ['sizes that do not fill the data', 7, '00000003', '00000002', 'the size of the samples is 3, expected 4'],
    ['a wrong data offset', 6, '00000080', '00000081', 'the data offset is 129, expected 128'],
    ['unsigned composition offsets', 6, '01000f01', '00000f01', 'the version of trun is 0, expected 1'],
    ['more samples than rows', 6, '00000002', '00000003', 'the length of trun is 40, expected 56'],
    ['an absolute base offset', 4, '00020000', '00000001', 'tfhd flags is 1, expected 131072'],
    ['an unknown box', 0, '73747970', '66726565', 'the order of boxes is free moof mdat, expected styp moof mdat'],
    ['a box beyond the file', 9, '0000000c', '0000000d', 'the boxes do not fill the file'],
    ['no run', 6, '7472756e', '66726565', 'traf/trun is missing or not alone'],
  ])('refuses %s', (_, part, from, to, reason) => {
    const parts = FRAGMENT.map((text, index) => (index === part ? text.replace(from, to) : text));
    expect(parts).not.toEqual(FRAGMENT);
    expect(reasonOf(() => verifyFragment(parse(parts), EXPECTED))).toBe(reason);
  });

  test('refuses every cut', () => {
    const bytes = parse(FRAGMENT);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(reasonOf(() => verifyFragment(bytes.subarray(0, length), EXPECTED))).not.toBe('accepted');
    }
  });

  test('never fails in another way, whatever byte is damaged', () => {
    const bytes = parse(FRAGMENT);
    for (let offset = 0; offset < bytes.length; offset += 1) {
      for (const value of [0x00, 0x01, 0x7f, 0x80, 0xff]) {
        const damaged = Uint8Array.from(bytes);
        damaged[offset] = value;
        expect(typeof reasonOf(() => verifyFragment(damaged, EXPECTED))).toBe('string');
      }
    }
  });
});

describe('verifyInit', () => {
  test('refuses what is no init segment', () => {
    const expected = { timescale: 48_000, codecs: 'mp4a.40.2' };
    expect(reasonOf(() => verifyInit(new Uint8Array(), expected))).toBe('the order of boxes is , expected ftyp moov');
    expect(reasonOf(() => verifyInit(parse(['00000008', '66747970', '00000008', '6d6f6f76']), expected))).toBe(
      'trak/mdia/mdhd is missing or not alone',
    );
  });
});
