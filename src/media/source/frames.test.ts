import { describe, expect, test } from 'vitest';
import { streamIndex } from '../../../test/support/media/media-values.js';
import { findConstantRate, hasOpenGops, listFrames, listKeyFrames, longestGopTicks } from './frames.js';

describe('listFrames', () => {
  const index = streamIndex({ pts: [-1024, 512, -512, 0, 2048, 1024, 1536], keys: [0, 4], lastDuration: 512 });
  test('sorts and drops what lies before the edit of an MP4', () => {
    expect([...listFrames(index, 'mov,mp4,m4a,3gp,3g2,mj2')]).toEqual([0, 512, 1024, 1536, 2048]);
    expect([...listFrames(index, 'matroska,webm')]).toEqual([-1024, -512, 0, 512, 1024, 1536, 2048]);
    expect([...listKeyFrames(index)]).toEqual([-1024, 2048]);
  });
  test('drops what can not be decoded before the first key frame', () => {
    const cut = streamIndex({ pts: [300, 100, 200, 600, 400, 500, 700], keys: [3], lastDuration: 100 });
    expect([...listFrames(cut, 'mpegts')]).toEqual([600, 700]);
    expect(listFrames(streamIndex({ pts: [0, 1], keys: [], lastDuration: 1 }), 'mpegts')).toHaveLength(0);
  });
});

describe('hasOpenGops', () => {
  const open = (pts: number[], keys: number[]) => hasOpenGops(streamIndex({ pts, keys, lastDuration: 1 }));
  test('finds leading frames behind a key frame', () => {
    expect(open([0, 3, 1, 2, 4, 7, 5, 6], [0, 4])).toBe(false);
    expect(open([0, 3, 1, 2, 6, 4, 5, 7], [0, 4])).toBe(true);
  });
  test('finds frames of the last GOP that are shown after the next key frame', () => {
    expect(open([0, 1, 5, 4, 6], [0, 3])).toBe(true);
  });
});

test('longestGopTicks measures from a key frame to the last frame of its GOP', () => {
  const pts = [0, 3, 1, 2, 4, 10, 30, 31];
  expect(longestGopTicks(streamIndex({ pts, keys: [0, 4, 6], lastDuration: 1 }))).toBe(6);
  // Widely spaced frames are fine when all of them are key frames.
  expect(longestGopTicks(streamIndex({ pts: [0, 60, 120], lastDuration: 60 }))).toBe(0);
});

describe('findConstantRate', () => {
  const ms = { num: 1, den: 1000 };
  const rounded = (rate: number, count: number) =>
    Float64Array.from({ length: count }, (_, i) => Math.round((i * 1000) / rate));
  test.each([
    [30, { num: 30, den: 1 }],
    [30_000 / 1001, { num: 30_000, den: 1001 }],
    [24_000 / 1001, { num: 24_000, den: 1001 }],
    [24, { num: 24, den: 1 }],
    [60_000 / 1001, { num: 60_000, den: 1001 }],
    [25, { num: 25, den: 1 }],
  ])('sees %f through whole milliseconds', (rate, expected) => {
    expect(findConstantRate(rounded(rate, 1800), ms)).toEqual(expected);
  });
  test('gives an unusual rate exactly', () => {
    expect(findConstantRate(Float64Array.of(0, 800, 1600, 2400), { num: 1, den: 10_000 })).toEqual({ num: 25, den: 2 });
    // AVI: the time base is the frame time.
    expect(findConstantRate(Float64Array.of(0, 1, 2, 3), { num: 1001, den: 30_000 })).toEqual({
      num: 30_000,
      den: 1001,
    });
  });
  test('finds none in variable times or a single frame', () => {
    expect(findConstantRate(Float64Array.of(0, 20, 53, 103), ms)).toBeUndefined();
    expect(findConstantRate(Float64Array.of(0, 33, 67, 100, 167, 200), ms)).toBeUndefined();
    expect(findConstantRate(Float64Array.of(0), ms)).toBeUndefined();
  });
});
