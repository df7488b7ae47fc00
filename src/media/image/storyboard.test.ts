import { describe, expect, test } from 'vitest';
import type { VideoPlan, VideoRendition } from '../plan/plan.js';
import { listTiles, planStoryboard, spriteSheetSize, writeStoryboardJson, writeStoryboardVtt } from './storyboard.js';

const video = (seconds: number, { width = 1920, height = 1080, rate = 25 } = {}): VideoPlan => ({
  access: 'source',
  formatName: 'mov',
  streamIndex: 0,
  timeBase: { num: 1, den: 90_000 },
  timescale: 90_000,
  originTicks: 0,
  boundaries: [0, Math.round(seconds * 90_000)],
  lastFrameTicks: Math.round((seconds - 1 / rate) * 90_000),
  frameRate: { num: rate, den: 1 },
  filters: {
    deinterlace: false,
    color: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' },
    rotation: 0,
    flipHorizontal: false,
    testMark: false,
  },
  renditions: [{ name: '1080p', width, height } as VideoRendition],
  startRendition: '1080p',
  copyDecision: '',
});
const whole = (seconds: number, shape = {}) =>
  planStoryboard(video(seconds, shape), { startSeconds: 0, endSeconds: seconds });

describe('tiles', () => {
  test.each([
    [899.9, 50, 5, 10],
    [900, 100, 10, 10],
    [43_200, 100, 10, 10],
    // Fewer frames than tiles.
    [1, 25, 5, 5],
    [0.48, 12, 5, 3],
    [0.04, 1, 5, 1],
  ])('%d s: %d tiles in %d columns and %d rows', (seconds, tiles, columns, rows) => {
    expect(whole(seconds)).toMatchObject({ tiles, columns, rows });
  });

  test('a window is as long as it is, and holds no more frames than that', () => {
    const plan = video(2000);
    expect(planStoryboard(plan, { startSeconds: 100, endSeconds: 200 }).tiles).toBe(50);
    expect(planStoryboard(plan, { startSeconds: 100, endSeconds: 1000 }).tiles).toBe(100);
    expect(planStoryboard(plan, { startSeconds: 100, endSeconds: 101 }).tiles).toBe(26);
  });

  test('the file counts its frames where it can', () => {
    const counted = { ...video(10), frameCounts: [4, 3] };
    expect(planStoryboard(counted, { startSeconds: 0, endSeconds: 10 }).tiles).toBe(7);
    expect(
      planStoryboard({ ...video(10), frameRate: { num: 0, den: 1 } }, { startSeconds: 0, endSeconds: 10 }).tiles,
    ).toBe(1);
  });

  test.each([
    [1920, 1080, 256, 144],
    [1280, 800, 256, 160],
    [1440, 1080, 256, 192],
    [854, 480, 256, 144],
    [2048, 858, 256, 108],
    [1080, 1080, 256, 256],
    [1080, 1920, 144, 256],
    [608, 1080, 144, 256],
    [1920, 2, 256, 2],
  ])('%dx%d gives %dx%d', (width, height, tileWidth, tileHeight) => {
    expect(whole(60, { width, height }).tile).toEqual({ width: tileWidth, height: tileHeight });
  });

  test('go left to right, top to bottom, and touch', () => {
    const storyboard = whole(42.375);
    expect(spriteSheetSize(storyboard)).toEqual({ width: 1280, height: 1440 });
    const tiles = listTiles(storyboard);
    expect(tiles.slice(0, 7).map(({ x, y }) => [x, y])).toEqual([
      [0, 0],
      [256, 0],
      [512, 0],
      [768, 0],
      [1024, 0],
      [0, 144],
      [256, 144],
    ]);
    expect(tiles.at(-1)).toEqual({ start: 41.5275, end: 42.375, x: 1024, y: 1296 });
    for (const [number, tile] of tiles.slice(1).entries()) expect(tile.start).toBe(tiles[number]!.end);
  });
});

const URL = 'https://image.example.net/p9XwYb2LcVn5RtHs7QdKj4GfMz8AeU1o/storyboard.webp';

test('the text of a storyboard', () => {
  const text = writeStoryboardVtt(whole(42.375), URL);
  expect(text.split('\n').slice(0, 7)).toEqual([
    'WEBVTT',
    '',
    '00:00:00.000 --> 00:00:00.847',
    `${URL}#xywh=0,0,256,144`,
    '',
    '00:00:00.847 --> 00:00:01.695',
    `${URL}#xywh=256,0,256,144`,
  ]);
  expect(text.trimEnd().split('\n').slice(-2)).toEqual([
    '00:00:41.527 --> 00:00:42.375',
    `${URL}#xywh=1024,1296,256,144`,
  ]);
  expect(text.match(/-->/g)).toHaveLength(50);
});

test('times of a long storyboard have hours, those of a window begin at zero', () => {
  expect(writeStoryboardVtt(whole(7200), URL)).toContain('\n01:58:48.000 --> 02:00:00.000\n');
  const text = writeStoryboardVtt(planStoryboard(video(100), { startSeconds: 50, endSeconds: 100 }), URL);
  expect(text).toContain('\n00:00:00.000 --> 00:00:01.000\n');
  expect(text).toContain('\n00:00:49.000 --> 00:00:50.000\n');
});

test('the JSON of a storyboard', () => {
  const json = JSON.parse(writeStoryboardJson(whole(42.375), URL));
  expect(Object.keys(json)).toEqual(['url', 'tile_width', 'tile_height', 'duration', 'tiles']);
  expect(json).toMatchObject({ url: URL, tile_width: 256, tile_height: 144, duration: 42.375 });
  expect(json.tiles).toHaveLength(50);
  expect(json.tiles.slice(0, 2)).toEqual([
    { start: 0, x: 0, y: 0 },
    { start: 0.8475, x: 256, y: 0 },
  ]);
  // No long decimals caused by binary fractions.
  for (const { start } of json.tiles) expect(String(start).length).toBeLessThan(10);
});
