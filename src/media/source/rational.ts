import type { Rational } from './source-facts.js';

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Lowest terms; `den` stays positive. Both parts must be safe integers. */
export const reduce = ({ num, den }: Rational): Rational => {
  const divisor = gcd(Math.abs(num), Math.abs(den)) || 1;
  const sign = den < 0 ? -1 : 1;
  return { num: (sign * num) / divisor, den: (sign * den) / divisor };
};

/**
 * Exact comparison: negative, zero or positive when `a` is less than, equal to or greater than `b`.
 */
export const compare = (a: Rational, b: Rational): number => {
  const difference = BigInt(a.num) * BigInt(b.den) - BigInt(b.num) * BigInt(a.den);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};

/**
 * The same fraction of a second with at least `minDen` ticks per second: a finer clock, on which
 * every tick of `timeBase` lies.
 */
export const refine = ({ num, den }: Rational, minDen: number): Rational => {
  const factor = Math.max(Math.ceil(minDen / den), 1);
  return { num: num * factor, den: den * factor };
};

export const toNumber = ({ num, den }: Rational): number => num / den;

/**
 * Converts `ticks` from time base `from` to `to`. Computed exactly, then rounded to the nearest
 * tick (halves up).
 */
export const rescale = (ticks: number, from: Rational, to: Rational): number => {
  const num = BigInt(ticks) * BigInt(from.num) * BigInt(to.den) * 2n;
  const den = BigInt(from.den) * BigInt(to.num);
  const doubled = num + den;
  const divisor = den * 2n;
  const quotient = doubled / divisor;
  // BigInt division truncates towards zero; rounding needs the floor.
  return Number(doubled < 0n && quotient * divisor !== doubled ? quotient - 1n : quotient);
};
