import { expect, test } from 'vitest';
import { fitSize } from './embed.js';

test.each([
  [1920, 1080, 640, 640, 640, 360],
  [1080, 1920, 640, 640, 360, 640],
  [320, 180, 640, 640, 640, 360],
  [4000, 10, 100, 100, 100, 1],
])('%i x %i within %i x %i', (width, height, maxWidth, maxHeight, ...expected) => {
  expect(Object.values(fitSize({ width, height }, maxWidth, maxHeight))).toEqual(expected);
});
