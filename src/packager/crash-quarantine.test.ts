import { expect, test } from 'vitest';
import { CrashQuarantine } from './crash-quarantine.js';

const start = () => {
  const time = { nowMs: 0 };
  return { time, crashes: new CrashQuarantine({ now: () => new Date(time.nowMs), monotonicMs: () => time.nowMs }) };
};

test('a segment that crashed twice is refused for five minutes, others are not', () => {
  const { time, crashes } = start();
  crashes.count('a', '0.m4s');
  expect(() => crashes.check('a', '0.m4s')).not.toThrow();
  crashes.count('a', '0.m4s');
  expect(() => crashes.check('a', '0.m4s')).toThrow('The media process crashed');
  expect(() => crashes.check('a', '1.m4s')).not.toThrow();
  expect(() => crashes.check('b', '0.m4s')).not.toThrow();
  time.nowMs = 5 * 60_000;
  expect(() => crashes.check('a', '0.m4s')).not.toThrow();
  crashes.count('a', '0.m4s');
  expect(() => crashes.check('a', '0.m4s')).not.toThrow();
});

test('a source that crashed with twenty of its segments is refused as a whole', () => {
  const { time, crashes } = start();
  for (let number = 0; number < 19; number++) crashes.count('a', `${number}.m4s`);
  expect(() => crashes.check('a', '100.m4s')).not.toThrow();
  crashes.count('a', '19.m4s');
  expect(() => crashes.check('a', '100.m4s')).toThrow('The media process crashed');
  expect(() => crashes.check('b', '100.m4s')).not.toThrow();
  time.nowMs = 5 * 60_000;
  expect(() => crashes.check('a', '100.m4s')).not.toThrow();
});
