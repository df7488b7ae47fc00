import { even, type Size } from '../plan/ladder.js';
import type { VideoPlan } from '../plan/plan.js';
import type { StoryboardWindow } from './parameters.js';

/**
 * Small frames of the whole asset or of a window of it, on one sprite sheet, left to right, top to
 * bottom.
 */
export interface Storyboard {
  readonly window: StoryboardWindow;
  readonly tile: Size;
  /** Tile i shows the frame at `i * length / tiles` of the window. */
  readonly tiles: number;
  readonly columns: number;
  readonly rows: number;
}

const LONG_SECONDS = 15 * 60;
const SHORT = { tiles: 50, columns: 5 };
const LONG = { tiles: 100, columns: 10 };
const TILE_SIDE = 256;

const tileSize = ({ width, height }: Size): Size =>
  height > width
    ? { width: even((width * TILE_SIDE) / height), height: TILE_SIDE }
    : { width: TILE_SIDE, height: even((height * TILE_SIDE) / width) };

/**
 * Number of frames displayed within the window, from the frame count of the file or its frame rate.
 */
const countFrames = ({ frameCounts, frameRate, lastFrameTicks, timescale }: VideoPlan, seconds: number): number => {
  const displayedSeconds = lastFrameTicks / timescale;
  const all = frameCounts
    ? frameCounts.reduce((sum, count) => sum + count, 0)
    : 1 + (frameRate.num > 0 ? Math.round((displayedSeconds * frameRate.num) / frameRate.den) : 0);
  const share = displayedSeconds > 0 ? Math.min(seconds / displayedSeconds, 1) : 1;
  return Math.max(1, Math.ceil(all * share));
};

export const planStoryboard = (video: VideoPlan, window: StoryboardWindow): Storyboard => {
  const seconds = window.endSeconds - window.startSeconds;
  const { tiles: most, columns } = seconds < LONG_SECONDS ? SHORT : LONG;
  const tiles = Math.min(most, countFrames(video, seconds));
  return { window, tile: tileSize(video.renditions.at(-1)!), tiles, columns, rows: Math.ceil(tiles / columns) };
};

interface Tile {
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
  readonly x: number;
  readonly y: number;
}

export const listTiles = ({ window, tile, tiles, columns }: Storyboard): Tile[] => {
  const seconds = window.endSeconds - window.startSeconds;
  return Array.from({ length: tiles }, (_, number) => ({
    start: (number * seconds) / tiles,
    end: ((number + 1) * seconds) / tiles,
    x: (number % columns) * tile.width,
    y: Math.floor(number / columns) * tile.height,
  }));
};

export const spriteSheetSize = ({ tile, columns, rows }: Storyboard): Size => ({
  width: columns * tile.width,
  height: rows * tile.height,
});

/** `00:01:02.345`, truncated to milliseconds. */
const webvttTime = (seconds: number): string => {
  const total = Math.floor(seconds * 1000 + 1e-6);
  const parts = [Math.floor(total / 3_600_000), Math.floor(total / 60_000) % 60, Math.floor(total / 1000) % 60];
  return `${parts.map((part) => String(part).padStart(2, '0')).join(':')}.${String(total % 1000).padStart(3, '0')}`;
};

/** Cues whose text is the URL of the sprite sheet with a media fragment that selects a tile. */
export const writeStoryboardVtt = (storyboard: Storyboard, imageUrl: string): string => {
  const { width, height } = storyboard.tile;
  const cues = listTiles(storyboard).map(
    ({ start, end, x, y }) =>
      `${webvttTime(start)} --> ${webvttTime(end)}\n${imageUrl}#xywh=${x},${y},${width},${height}\n`,
  );
  return ['WEBVTT\n', ...cues].join('\n');
};

export const writeStoryboardJson = (storyboard: Storyboard, imageUrl: string): string => {
  const { window, tile } = storyboard;
  return JSON.stringify({
    url: imageUrl,
    tile_width: tile.width,
    tile_height: tile.height,
    duration: rounded(window.endSeconds - window.startSeconds),
    tiles: listTiles(storyboard).map(({ start, x, y }) => ({ start: rounded(start), x, y })),
  });
};

/** Rounded to microseconds, to avoid long fractions. */
const rounded = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;
