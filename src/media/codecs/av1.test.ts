import { describe, expect, test } from 'vitest';
import { hasSequenceHeader, readAv1c, readTemporalUnit, withoutTemporalDelimiters } from './av1.js';

describe('readAv1c', () => {
  test.each([
    ['81040c00', 'av01.0.04M.08', 0, 8],
    ['810dcc00', 'av01.0.13H.10', 0, 10],
    ['81684c00', 'av01.3.08M.10', 3, 10],
    ['81487c00', 'av01.2.08M.12', 2, 12],
  ])('%s is %s', (record, codecs, profile, bitDepth) => {
    expect(readAv1c(Buffer.from(record, 'hex'))).toEqual({ codecs, profile, bitDepth });
  });
  test('refuses other records', () => {
    for (const record of ['', '81040c', '01040c00', '82040c00'])
      expect(readAv1c(Buffer.from(record, 'hex'))).toBeUndefined();
  });
});

/** A unit with a length field. */
const obu = (type: number, ...content: number[]): number[] => [(type << 3) | 2, content.length, ...content];

test('a key frame begins with a sequence header, whether or not a delimiter stands before it', () => {
  expect(hasSequenceHeader(Uint8Array.from([...obu(2), ...obu(1, 5, 6), ...obu(6, 7)]))).toBe(true);
  expect(hasSequenceHeader(Uint8Array.from([...obu(1, 5), ...obu(6, 7)]))).toBe(true);
  expect(hasSequenceHeader(Uint8Array.from([...obu(6, 7), ...obu(1, 5)]))).toBe(false);
  // The length extends beyond the sample.
  expect(hasSequenceHeader(Uint8Array.from([0x0a, 0x85, 0x01, 0]))).toBe(false);
  expect(hasSequenceHeader(new Uint8Array())).toBe(false);
});

test('temporal delimiters are dropped, and nothing else', () => {
  const kept = Uint8Array.from([...obu(1, 5), ...obu(6, 7, 8)]);
  expect(withoutTemporalDelimiters(kept)).toBe(kept);
  expect(withoutTemporalDelimiters(Uint8Array.from([...obu(2), ...kept]))).toEqual(kept);
  // The last unit may have no length field: it extends to the end.
  const open = Uint8Array.from([...obu(1, 5), 6 << 3, 7, 8]);
  expect(withoutTemporalDelimiters(Uint8Array.from([...obu(2), ...open]))).toEqual(open);
});

test('a temporal unit tells how many frames it shows', () => {
  const units = (...parts: number[][]) => readTemporalUnit(Uint8Array.from(parts.flat()));
  // `show_existing_frame`; an inter frame that is shown; one that is not.
  const [existing, shown, hidden] = [obu(3, 0x80), obu(6, 0x30), obu(6, 0x20)];
  expect(units(existing)).toEqual({ shownFrames: 1, hasDelimiter: false });
  expect(units(hidden, shown)).toEqual({ shownFrames: 1, hasDelimiter: false });
  expect(units(obu(2), shown, existing)).toEqual({ shownFrames: 2, hasDelimiter: true });
  expect(units(hidden)!.shownFrames).toBe(0);
  // Lengths that end elsewhere, and a sequence header that is damaged.
  expect(units(shown, [0x32, 9, 0])).toBeUndefined();
  expect(units(obu(1, 5), shown)).toBeUndefined();
});
