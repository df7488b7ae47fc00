import { expect, test } from 'vitest';
import { planContactSheet } from './contact-sheet.js';

const landscape = { width: 1920, height: 1080 };
const sheetOf = (seconds: number, frame = landscape) => {
  const { times, tile, columns, rows } = planContactSheet({ startSeconds: 7, endSeconds: 7 + seconds }, frame);
  return { tiles: times.length, columns, rows, tile, step: (times[1] ?? 7) - times[0]! };
};

test.each([
  // A shot under a second has one frame.
  [0.5, 1, 1, 1],
  [1, 1, 1, 1],
  [1.99, 1, 1, 1],
  [2, 2, 2, 1],
  [10, 10, 10, 1],
  [10.9, 10, 10, 1],
  [11, 11, 10, 2],
  [99.5, 99, 10, 10],
  [100, 100, 10, 10],
  [7200, 100, 10, 10],
])('%d s: %d frames in %d columns and %d rows', (seconds, tiles, columns, rows) => {
  const sheet = sheetOf(seconds);
  expect(sheet).toMatchObject({ tiles, columns, rows, tile: { width: 256, height: 144 } });
  // Never more than one per second, apart from floating-point rounding.
  if (tiles > 1) expect(sheet.step).toBeGreaterThanOrEqual(1 - 1e-9);
});

test('the first frame is the first of the shot, the last lies within it', () => {
  const { times } = planContactSheet({ startSeconds: 4.2, endSeconds: 300 }, landscape);
  expect(times[0]).toBe(4.2);
  expect(times.at(-1)).toBeLessThan(300);
});

test('tiles are 256 wide unless the sheet would become higher than a WebP can be', () => {
  expect(sheetOf(3, { width: 1080, height: 1920 }).tile).toEqual({ width: 256, height: 456 });
  const narrow = sheetOf(100, { width: 100, height: 4000 });
  expect(narrow.tile.height * narrow.rows).toBeLessThanOrEqual(16_383);
  expect(narrow.tile.width).toBeLessThan(256);
  for (const side of [narrow.tile.width, narrow.tile.height]) expect(side % 2).toBe(0);
});
