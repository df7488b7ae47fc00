import { expect, test } from 'vitest';
import { placeOverlay } from './geometry.js';

const HD = { width: 1280, height: 720 };
const LOGO = { width: 192, height: 108 };
const near = (placement: object): object =>
  Object.fromEntries(Object.entries(placement).map(([name, value]) => [name, expect.closeTo(value as number, 9)]));

test.each([
  ['natural size, upper left', {}, { left: 0, top: 0, width: 0.1, height: 0.1, opacity: 1 }],
  ['width keeps the aspect', { width: '20%' }, { left: 0, top: 0, width: 0.2, height: 0.2, opacity: 1 }],
  ['height keeps the aspect', { height: '54px' }, { left: 0, top: 0, width: 0.05, height: 0.05, opacity: 1 }],
  ['both stretch', { width: '960px', height: '25%' }, { left: 0, top: 0, width: 0.5, height: 0.25, opacity: 1 }],
  [
    'lower right with margins',
    {
      vertical_align: 'bottom',
      vertical_margin: '54px',
      horizontal_align: 'right',
      horizontal_margin: '2%',
      opacity: '75%',
    },
    { left: 0.88, top: 0.85, width: 0.1, height: 0.1, opacity: 0.75 },
  ],
  [
    'offset from the centre',
    { vertical_align: 'middle', vertical_margin: '10%', horizontal_align: 'center', horizontal_margin: '-192px' },
    { left: 0.35, top: 0.55, width: 0.1, height: 0.1, opacity: 1 },
  ],
  ['off screen', { horizontal_margin: '-5%' }, { left: -0.05, top: 0, width: 0.1, height: 0.1, opacity: 1 }],
  [
    'empty is absent',
    { width: '', opacity: '', vertical_margin: '' },
    { left: 0, top: 0, width: 0.1, height: 0.1, opacity: 1 },
  ],
] as const)('%s', (_, settings, expected) => {
  expect(placeOverlay(settings, LOGO, HD)).toEqual(near(expected));
});

test('on portrait the virtual frame is rotated', () => {
  const placed = placeOverlay({ vertical_align: 'bottom', vertical_margin: '192px' }, LOGO, {
    width: 540,
    height: 960,
  });
  expect(placed).toEqual(
    near({ left: 0, top: 1 - 0.1 - 108 / 1920, width: 192 / 1080, height: 108 / 1920, opacity: 1 }),
  );
});

test('a frame of another shape is fitted into the virtual frame', () => {
  // 4:3 becomes 1440 x 1080.
  expect(placeOverlay({}, LOGO, { width: 640, height: 480 })).toEqual(
    near({ left: 0, top: 0, width: 192 / 1440, height: 0.1, opacity: 1 }),
  );
});
