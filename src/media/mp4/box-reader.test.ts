import { expect, test } from 'vitest';
import { listBoxes } from './box-reader.js';

const emptyBoxes = (count: number): Buffer => {
  const box = Buffer.from([0, 0, 0, 8, ...Buffer.from('free')]);
  return Buffer.concat(Array.from({ length: count }, () => box));
};

test('boxes side by side are listed, up to a number that no writer comes near', () => {
  expect(listBoxes(emptyBoxes(3))?.map(({ start, end }) => [start, end])).toEqual([
    [0, 8],
    [8, 16],
    [16, 24],
  ]);
  expect(listBoxes(emptyBoxes(100_000))).toHaveLength(100_000);
  expect(listBoxes(emptyBoxes(100_001))).toBeUndefined();
});
