import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planWindows } from './windows.js';

test('a short list is one window, none has none', () => {
  expect(planWindows([1, 2, 3], 10, 2)).toEqual([{ start: 0, end: 3 }]);
  expect(planWindows([], 10, 2)).toEqual([]);
});

test('windows share their ends', () => {
  expect(planWindows([4, 4, 2, 4, 4], 10, 3)).toEqual([
    { start: 0, end: 3 },
    { start: 2, end: 5 },
  ]);
});

test('every item is in a window, none is too large for what it need not hold, and each goes further', () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 40 }), (list, limit, overlap) => {
      const windows = planWindows(list, limit, overlap);
      expect(windows[0]!.start).toBe(0);
      expect(windows.at(-1)!.end).toBe(list.length);
      for (const [at, { start, end }] of windows.entries()) {
        const sum = list.slice(start, end).reduce((total, size) => total + size, 0);
        expect(sum <= limit || end === start + 1).toBe(true);
        const next = windows[at + 1];
        if (!next) continue;
        expect(next.start).toBeGreaterThan(start);
        expect(next.start).toBeLessThanOrEqual(end);
        expect(next.end).toBeGreaterThan(start);
      }
    }),
  );
});
