import { expect, it } from 'vitest';
import { createTokenBuckets } from './token-bucket.js';

const setUp = (perSecond: number, burst: number, servers = () => 1) => {
  let nowMs = 5000;
  const clock = { now: () => new Date(0), monotonicMs: () => nowMs };
  const take = createTokenBuckets({ perSecond, burst }, clock, servers);
  const count = (key: string, tries: number) => Array.from({ length: tries }, () => take(key)).filter(Boolean).length;
  return { count, wait: (ms: number) => (nowMs += ms) };
};

it('lets a burst pass and then the rate', () => {
  const { count, wait } = setUp(2, 5);
  expect(count('a', 20)).toBe(5);
  wait(499);
  expect(count('a', 1)).toBe(0);
  wait(1);
  expect(count('a', 2)).toBe(1);
  wait(2000);
  expect(count('a', 20)).toBe(4);
});

it('shares both with other servers, and passes at least one at a time', () => {
  let servers = 3;
  const { count, wait } = setUp(6, 9, () => servers);
  expect(count('a', 20)).toBe(3);
  wait(1000);
  expect(count('a', 20)).toBe(2);
  servers = 1;
  wait(60_000);
  expect(count('a', 20)).toBe(9);
  servers = 20;
  wait(60_000);
  expect(count('a', 20)).toBe(1);
});

it('never holds more than a burst', () => {
  const { count, wait } = setUp(2, 5);
  wait(3_600_000);
  expect(count('a', 20)).toBe(5);
  wait(3_600_000);
  expect(count('a', 20)).toBe(5);
});

it('lets at most burst + rate x time pass in any stretch of time', () => {
  const { count, wait } = setUp(3, 4);
  let passed = 0;
  for (let second = 0; second < 10; second += 0.05) {
    passed += count('a', 5);
    wait(50);
  }
  expect(passed).toBeLessThanOrEqual(4 + 3 * 10);
  expect(passed).toBeGreaterThanOrEqual(4 + 3 * 9);
});

it('counts each key by itself', () => {
  const { count } = setUp(1, 3);
  expect(count('a', 9)).toBe(3);
  expect(count('b', 9)).toBe(3);
});

it('gains fractions of a token between refusals', () => {
  const { count, wait } = setUp(1, 1);
  expect(count('a', 1)).toBe(1);
  let passed = 0;
  for (let i = 0; i < 10; i++) {
    wait(250);
    passed += count('a', 1);
  }
  expect(passed).toBe(2);
});
