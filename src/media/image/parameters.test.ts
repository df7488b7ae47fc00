import { describe, expect, test } from 'vitest';
import {
  parseAnimatedParameters,
  parseStoryboardFormat,
  parseStoryboardWindow,
  parseThumbnailParameters,
} from './parameters.js';

const INVALID = 'Invalid parameter';
const DEFAULTS = { fitMode: 'preserve', rotate: 0, flipHorizontal: false, flipVertical: false };

test('a thumbnail without parameters', () => {
  expect(parseThumbnailParameters({})).toEqual(DEFAULTS);
});

test.each([
  [{ time: '12.5' }, { timeSeconds: 12.5 }],
  [{ time: 0 }, { timeSeconds: 0 }],
  [{ time: '.5' }, { timeSeconds: 0.5 }],
  [{ time: '1e3' }, { timeSeconds: 1000 }],
  [
    { width: '1', height: '4096' },
    { width: 1, height: 4096 },
  ],
  [{ width: 512 }, { width: 512 }],
  [{ height: '512' }, { height: 512 }],
  [{ width: '', height: '', time: '', fit_mode: '', rotate: '', flip_h: '', flip_v: '', latest: '' }, {}],
  [{ fit_mode: 'stretch' }, { fitMode: 'stretch' }],
  [{ fit_mode: 'crop' }, { fitMode: 'crop' }],
  [{ fit_mode: 'smartcrop' }, { fitMode: 'smartcrop' }],
  [{ fit_mode: 'pad' }, { fitMode: 'pad' }],
  [{ fit_mode: 'preserve' }, {}],
  [{ rotate: '90' }, { rotate: 90 }],
  [{ rotate: 180 }, { rotate: 180 }],
  [{ rotate: '270' }, { rotate: 270 }],
  [
    { flip_h: 'true', flip_v: true },
    { flipHorizontal: true, flipVertical: true },
  ],
  [{ flip_h: '1', flip_v: 'false' }, { flipHorizontal: true }],
  [{ latest: 'false' }, {}],
  [{ program_time: 'whatever', unknown: 'x', token: 'y' }, {}],
  [Object.create({ width: '0' }), {}],
])('thumbnail %j', (values, expected) => {
  expect(parseThumbnailParameters(values)).toEqual({ ...DEFAULTS, ...expected });
});

test.each([
  [{ time: '-1' }, INVALID],
  [{ time: '-0.001' }, INVALID],
  [{ time: 'middle' }, INVALID],
  [{ time: '1s' }, INVALID],
  [{ time: 'Infinity' }, INVALID],
  [{ time: '1e999' }, INVALID],
  [{ time: 'NaN' }, INVALID],
  [{ time: ' 1' }, INVALID],
  [{ time: true }, INVALID],
  [{ time: null }, INVALID],
  [{ time: [1] }, INVALID],
  [{ time: { seconds: 1 } }, INVALID],
  [{ width: '0' }, INVALID],
  [{ width: '-1' }, INVALID],
  [{ width: '4097' }, INVALID],
  [{ width: '10.5' }, INVALID],
  [{ width: 10.5 }, INVALID],
  [{ width: '1e2' }, INVALID],
  [{ width: '99999999999999999999' }, INVALID],
  [{ height: '0' }, INVALID],
  [{ height: '4097' }, INVALID],
  [{ height: 'tall' }, INVALID],
  [{ rotate: '0' }, INVALID],
  [{ rotate: '45' }, INVALID],
  [{ rotate: '-90' }, INVALID],
  [{ rotate: '360' }, INVALID],
  [{ rotate: '90.0' }, INVALID],
  [{ flip_h: 'yes' }, INVALID],
  [{ flip_v: '2' }, INVALID],
  [{ latest: 'true' }, INVALID],
  [{ latest: true }, INVALID],
  [{ latest: 'now' }, INVALID],
  [{ fit_mode: 'fill' }, 'Unrecognized fit-mode'],
  [{ fit_mode: 'Crop' }, 'Unrecognized fit-mode'],
  [{ fit_mode: 7 }, 'Unrecognized fit-mode'],
])('thumbnail %j is refused', (values, message) => {
  expect(() => parseThumbnailParameters(values)).toThrow(
    expect.objectContaining({ code: 'invalid_parameters', messages: [message] }),
  );
});

describe('an animation of an asset of 20 s', () => {
  const duration = 20;
  test.each([
    [{}, { startSeconds: 0, endSeconds: 5 }],
    [{ start: '3' }, { startSeconds: 3, endSeconds: 8 }],
    [
      { start: '3', end: '3.25' },
      { startSeconds: 3, endSeconds: 3.25 },
    ],
    [
      { start: 0.1, end: 10.1 },
      { startSeconds: 0.1, endSeconds: 10.1 },
    ],
    [
      { start: '0.1', end: '0.35' },
      { startSeconds: 0.1, endSeconds: 0.35 },
    ],
    [{ end: '2' }, { startSeconds: 0, endSeconds: 2 }],
    // Shortened to the end of the asset.
    [{ start: '18' }, { startSeconds: 18, endSeconds: 20 }],
    [{ start: '19.9' }, { startSeconds: 19.9, endSeconds: 20 }],
    [
      { start: '15', end: '99' },
      { startSeconds: 15, endSeconds: 20 },
    ],
    [
      { width: '640', height: '1', fps: '30' },
      { endSeconds: 5, width: 640, height: 1, framesPerSecond: 30 },
    ],
    [
      { fps: 1, width: '', end: '' },
      { endSeconds: 5, framesPerSecond: 1 },
    ],
  ])('%j', (values, expected) => {
    expect(parseAnimatedParameters(values, duration)).toEqual({ startSeconds: 0, framesPerSecond: 15, ...expected });
  });

  test.each([
    { start: '20' },
    { start: '21' },
    { start: '-1' },
    { start: 'x' },
    { start: '5', end: '5' },
    { start: '5', end: '4' },
    { start: '5', end: '5.2' },
    { start: '5', end: '15.1' },
    { start: '0', end: '99' },
    { start: '19.9', end: '20' },
    { end: '-1' },
    { width: '0' },
    { width: '641' },
    { height: '641' },
    { height: '0' },
    { fps: '0' },
    { fps: '31' },
    { fps: '12.5' },
  ])('%j is refused', (values) => {
    expect(() => parseAnimatedParameters(values, duration)).toThrow(
      expect.objectContaining({ code: 'invalid_parameters', messages: [INVALID] }),
    );
  });

  test('one that is shorter than a quarter of a second can be shown', () => {
    expect(parseAnimatedParameters({}, 0.2)).toMatchObject({ startSeconds: 0, endSeconds: 0.2 });
  });
});

describe('the window of a storyboard', () => {
  test.each([
    [{}, 0, 100],
    [{ asset_start_time: '10.5' }, 10.5, 100],
    [{ asset_start_time: 10, asset_end_time: '20' }, 10, 20],
    [{ asset_end_time: '500' }, 0, 100],
    [{ asset_start_time: '', asset_end_time: '' }, 0, 100],
    [{ program_start_time: '1', program_end_time: 'x', width: '640' }, 0, 100],
  ])('%j', (values, startSeconds, endSeconds) => {
    expect(parseStoryboardWindow(values, 100)).toEqual({ startSeconds, endSeconds });
  });

  test.each([
    { asset_start_time: '-1' },
    { asset_start_time: '100' },
    { asset_start_time: '20', asset_end_time: '20' },
    { asset_start_time: '20', asset_end_time: '10' },
    { asset_end_time: '0' },
    { asset_end_time: 'end' },
  ])('%j is refused', (values) => {
    expect(() => parseStoryboardWindow(values, 100)).toThrow(expect.objectContaining({ messages: [INVALID] }));
  });
});

test('the format of the image of a storyboard', () => {
  expect([undefined, '', 'jpg', 'png', 'webp'].map(parseStoryboardFormat)).toEqual([
    'jpg',
    'jpg',
    'jpg',
    'png',
    'webp',
  ]);
  for (const value of ['gif', 'jpeg', 'WEBP', 1, true]) {
    expect(() => parseStoryboardFormat(value)).toThrow(expect.objectContaining({ messages: [INVALID] }));
  }
});
