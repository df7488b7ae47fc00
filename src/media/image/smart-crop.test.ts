import { expect, test } from 'vitest';
import { findSmartCrop } from './smart-crop.js';

/** A gray image with a checkered patch. */
const image = (width: number, height: number, patch?: { x: number; y: number; side: number }) => {
  const stride = width + 5;
  const data = new Uint8Array(stride * height).fill(120);
  if (patch) {
    for (let y = patch.y; y < patch.y + patch.side; y++) {
      for (let x = patch.x; x < patch.x + patch.side; x++) data[y * stride + x] = ((x >> 1) + (y >> 1)) % 2 ? 200 : 40;
    }
  }
  return { data, stride, width, height };
};

test.each([
  [10, 0],
  [280, 220],
  // The patch is in the middle, so the window stays there.
  [150, 110],
])('the window follows a patch at %d', (x, left) => {
  const place = findSmartCrop(image(320, 100, { x, y: 30, side: 30 }), { width: 100, height: 100 });
  expect(place.top).toBe(0);
  const holds = place.left <= x && place.left + 100 >= x + 30;
  expect(holds || place.left === left, String(place.left)).toBe(true);
});

test('in portrait it moves up and down', () => {
  const { left, top } = findSmartCrop(image(100, 320, { x: 30, y: 10, side: 30 }), { width: 100, height: 100 });
  expect(left).toBe(0);
  expect(top).toBeLessThanOrEqual(10);
});

test('the middle of an image in which nothing stands out', () => {
  expect(findSmartCrop(image(320, 100), { width: 100, height: 100 })).toEqual({ left: 110, top: 0 });
  expect(findSmartCrop(image(1, 1), { width: 1, height: 1 })).toEqual({ left: 0, top: 0 });
});
