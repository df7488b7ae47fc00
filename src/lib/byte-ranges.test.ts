import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ByteRange, countBytes, coversRange, mergeRanges, missingRanges } from './byte-ranges.js';

const SIZE = 64;
const range = fc
  .tuple(fc.nat(SIZE), fc.nat(SIZE))
  .map(([a, b]): ByteRange => ({ start: Math.min(a, b), end: Math.max(a, b) }));
const ranges = fc.array(range, { maxLength: 8 });
const bytesOf = (list: readonly ByteRange[]): Set<number> =>
  new Set(list.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, at) => start + at)));

it('merged ranges hold the same bytes, in order and apart from each other', () => {
  fc.assert(
    fc.property(ranges, (list) => {
      const merged = mergeRanges(list);
      expect(bytesOf(merged)).toEqual(bytesOf(list));
      expect(merged.every(({ start, end }, at) => start < end && (at === 0 || start > merged[at - 1]!.end))).toBe(true);
      expect(countBytes(merged)).toBe(bytesOf(list).size);
    }),
  );
});

it('ranges with a small gap between them become one', () => {
  expect(
    mergeRanges(
      [
        { start: 0, end: 4 },
        { start: 6, end: 8 },
      ],
      2,
    ),
  ).toEqual([{ start: 0, end: 8 }]);
  expect(
    mergeRanges(
      [
        { start: 0, end: 4 },
        { start: 7, end: 8 },
      ],
      2,
    ),
  ).toHaveLength(2);
});

it('what is missing are the wanted bytes that are not present', () => {
  fc.assert(
    fc.property(ranges, ranges, (wanted, present) => {
      const missing = bytesOf(missingRanges(mergeRanges(wanted), mergeRanges(present)));
      const expected = [...bytesOf(wanted)].filter((byte) => !bytesOf(present).has(byte));
      expect([...missing].sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
    }),
  );
});

it('a range is covered when all of its bytes are there', () => {
  fc.assert(
    fc.property(ranges, range, (list, { start, end }) => {
      fc.pre(end > start);
      const bytes = bytesOf(list);
      const all = Array.from({ length: end - start }, (_, at) => start + at).every((byte) => bytes.has(byte));
      expect(coversRange(mergeRanges(list), start, end)).toBe(all);
    }),
  );
});
