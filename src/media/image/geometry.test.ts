import { describe, expect, test } from 'vitest';
import type { Size } from '../plan/ladder.js';
import { animatedSize, fitBox, planStill, stillSize, ticksAt } from './geometry.js';
import type { ThumbnailParameters } from './parameters.js';

const size = (text: string): Size => {
  const [width, height] = text.split('x').map(Number);
  return { width: width!, height: height! };
};
const plan = (stored: string, parameters: Partial<ThumbnailParameters>) =>
  planStill(size(stored), {
    fitMode: 'preserve',
    rotate: 0,
    flipHorizontal: false,
    flipVertical: false,
    ...parameters,
  });

test.each([
  ['1920x1080', '100x100', '100x56'],
  ['1080x1920', '100x100', '56x100'],
  ['1920x1080', '1920x1080', '1920x1080'],
  ['1920x1080', '4096x4096', '4096x2304'],
  ['320x180', '1x1', '1x1'],
  ['1920x2', '100x100', '100x1'],
  ['854x480', '640x360', '640x359'],
  ['1080x1080', '333x1', '1x1'],
  // Factors without an exact binary form must not lose a pixel.
  ['1920x1080', '1280x720', '1280x720'],
  ['1280x720', '1920x1080', '1920x1080'],
  ['1440x1080', '123x1000', '123x92'],
])('%s in a box of %s is %s', (stored, box, fitted) => {
  expect(fitBox(size(stored), size(box))).toEqual(size(fitted));
});

describe('the size of a still', () => {
  test.each<[string, Partial<ThumbnailParameters>, string]>([
    ['1920x1080', {}, '1920x1080'],
    ['1920x1080', { fitMode: 'crop' }, '1920x1080'],
    ['1920x1080', { width: 100 }, '100x56'],
    ['1920x1080', { height: 100 }, '177x100'],
    // With one side, the fit mode has no effect.
    ['1920x1080', { width: 100, fitMode: 'pad' }, '100x56'],
    ['1920x1080', { height: 100, fitMode: 'stretch' }, '177x100'],
    ['1080x1920', { width: 4096 }, '2304x4096'],
    ['1920x1080', { width: 100, height: 100 }, '100x56'],
    ['1920x1080', { width: 100, height: 100, fitMode: 'stretch' }, '100x100'],
    ['1920x1080', { width: 100, height: 100, fitMode: 'crop' }, '100x100'],
    ['1920x1080', { width: 100, height: 100, fitMode: 'smartcrop' }, '100x100'],
    ['1920x1080', { width: 100, height: 100, fitMode: 'pad' }, '100x100'],
    ['1920x1080', { width: 200, height: 100, rotate: 90, fitMode: 'stretch' }, '100x200'],
    ['1920x1080', { width: 200, height: 100, rotate: 270, fitMode: 'pad' }, '100x200'],
    ['1920x1080', { width: 200, height: 100, rotate: 180 }, '177x100'],
    ['1920x1080', { rotate: 90 }, '1080x1920'],
  ])('%s with %j is %s', (stored, parameters, expected) => {
    expect(stillSize(plan(stored, parameters))).toEqual(size(expected));
  });
});

describe('the steps of a still', () => {
  test('the frame is decoded to its size, but never enlarged', () => {
    expect(plan('1920x1080', { width: 640, height: 640 })).toMatchObject({
      frame: size('640x360'),
      scaled: size('640x360'),
    });
    expect(plan('320x180', { width: 640 })).toMatchObject({ frame: size('320x180'), scaled: size('640x360') });
  });

  test('a crop fills the box', () => {
    expect(plan('1920x1080', { width: 100, height: 100, fitMode: 'crop' })).toMatchObject({
      frame: size('178x100'),
      crop: { ...size('100x100'), place: 'centre' },
      scaled: size('100x100'),
    });
    // Enlarged after cropping.
    expect(plan('320x180', { width: 400, height: 400, fitMode: 'crop' })).toMatchObject({
      frame: size('320x180'),
      crop: { ...size('180x180'), place: 'centre' },
      scaled: size('400x400'),
    });
    expect(plan('320x180', { width: 160, height: 90, fitMode: 'smartcrop' }).crop).toBeUndefined();
    expect(plan('320x180', { width: 90, height: 90, fitMode: 'smartcrop' }).crop).toMatchObject({ place: 'smart' });
  });

  test('a stretched frame keeps its shape until the last step', () => {
    expect(plan('1920x1080', { width: 100, height: 100, fitMode: 'stretch' })).toMatchObject({
      frame: size('178x100'),
      scaled: size('100x100'),
    });
  });

  test('no step holds more than the stored or the wanted frame', () => {
    for (const stored of ['1920x2', '2x1920', '3840x2160', '2x2']) {
      for (const box of ['1x4096', '4096x1', '4096x4096', '1x1']) {
        for (const fitMode of ['preserve', 'stretch', 'crop', 'smartcrop', 'pad'] as const) {
          const { frame, crop, scaled, canvas } = plan(stored, { ...size(box), fitMode });
          const label = `${stored} ${box} ${fitMode}`;
          expect(frame.width, label).toBeLessThanOrEqual(size(stored).width);
          expect(frame.height, label).toBeLessThanOrEqual(size(stored).height);
          for (const side of [frame, crop ?? frame, scaled, canvas ?? scaled].flatMap((s) => [s.width, s.height])) {
            expect(Number.isInteger(side) && side >= 1 && side <= 4096, label).toBe(true);
          }
          if (crop) expect(crop.width <= frame.width && crop.height <= frame.height, label).toBe(true);
        }
      }
    }
  });

  test('padding is left out where nothing is left to pad', () => {
    expect(plan('1920x1080', { width: 160, height: 90, fitMode: 'pad' }).canvas).toBeUndefined();
    expect(plan('1920x1080', { width: 160, height: 91, fitMode: 'pad' }).canvas).toEqual(size('160x91'));
  });
});

test.each([
  ['1920x1080', {}, '320x180'],
  ['1080x1920', {}, '320x568'],
  ['400x1600', {}, '160x640'],
  ['1920x1080', { width: 640 }, '640x360'],
  ['1920x1080', { height: 90 }, '160x90'],
  ['3840x800', { height: 640 }, '640x133'],
  ['1920x1080', { width: 100, height: 100 }, '100x56'],
  ['160x90', { width: 640, height: 640 }, '640x360'],
])('an animation of %s with %j is %s', (stored, parameters, expected) => {
  expect(animatedSize(size(stored), parameters)).toEqual(size(expected));
});

test('a moment is the tick at or before it', () => {
  expect(ticksAt(0, 90_000)).toBe(0);
  expect(ticksAt(0.57, 90_000)).toBe(51_300);
  expect(ticksAt(1.1, 90_000)).toBe(99_000);
  expect(ticksAt(0.0333, 30)).toBe(0);
  // The time of a frame, rounded by a player.
  expect(ticksAt(1.033333, 30)).toBe(31);
  expect(ticksAt(1.03332, 30)).toBe(30);
});
