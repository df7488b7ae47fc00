import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compare, reduce, rescale } from './rational.js';

describe('reduce', () => {
  test('gives lowest terms with a positive denominator', () => {
    expect(reduce({ num: 1920, den: 1080 })).toEqual({ num: 16, den: 9 });
    expect(reduce({ num: 6, den: -4 })).toEqual({ num: -3, den: 2 });
    expect(reduce({ num: 0, den: 5 })).toEqual({ num: 0, den: 1 });
  });
});

test('compare is exact where doubles are not', () => {
  const a = { num: 9_007_199_254_740_991, den: 9_007_199_254_740_990 };
  const b = { num: 9_007_199_254_740_990, den: 9_007_199_254_740_989 };
  expect(a.num / a.den).toBe(b.num / b.den);
  expect(compare(a, b)).toBe(-1);
  expect(compare(b, a)).toBe(1);
  expect(compare({ num: 1, den: 2 }, { num: 2, den: 4 })).toBe(0);
});

describe('rescale', () => {
  const pal = { num: 1, den: 25 };
  const mpeg = { num: 1, den: 90_000 };
  test('rounds to nearest, halves up, also below zero', () => {
    expect(rescale(1, pal, mpeg)).toBe(3600);
    expect(rescale(5, { num: 1, den: 10 }, { num: 1, den: 1 })).toBe(1);
    expect(rescale(-5, { num: 1, den: 10 }, { num: 1, den: 1 })).toBe(0);
    expect(rescale(-6, { num: 1, den: 10 }, { num: 1, den: 1 })).toBe(-1);
    expect(rescale(1001, { num: 1, den: 30_000 }, { num: 1, den: 1000 })).toBe(33);
  });
  test('stays exact for twelve hours of nanoseconds', () => {
    expect(rescale(43_200_000_000_001, { num: 1, den: 1_000_000_000 }, mpeg)).toBe(3_888_000_000);
  });
  test('coarse to fine and back is the identity', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), (ticks) => {
        expect(rescale(rescale(ticks, pal, mpeg), mpeg, pal)).toBe(ticks);
      }),
    );
  });
});
