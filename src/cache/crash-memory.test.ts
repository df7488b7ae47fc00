import { expect, test } from 'vitest';
import { createCrashMemory } from './crash-memory.js';

test('an asset that crashed twice is refused for five minutes, others are not', () => {
  let nowMs = 0;
  const crashes = createCrashMemory({ now: () => new Date(nowMs), monotonicMs: () => nowMs });
  crashes.count('a');
  expect(() => crashes.check('a')).not.toThrow();
  crashes.count('a');
  expect(() => crashes.check('a')).toThrow('The media process crashed');
  expect(() => crashes.check('b')).not.toThrow();
  nowMs = 5 * 60_000;
  expect(() => crashes.check('a')).not.toThrow();
  crashes.count('a');
  expect(() => crashes.check('a')).not.toThrow();
});
