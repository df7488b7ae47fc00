import { even, type Size } from '../plan/ladder.js';

/** A part of an asset without cuts. */
export interface Shot {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Frames of one shot on one contact sheet, left to right, top to bottom. */
export interface ContactSheet {
  /** Seconds on the timeline of the asset; the first is the start of the shot. */
  readonly times: readonly number[];
  readonly tile: Size;
  readonly columns: number;
  readonly rows: number;
}

const TILE_WIDTH = 256;
const MAX_TILES = 100;
const MAX_COLUMNS = 10;
/** The largest side that WebP supports. */
const MAX_SIDE = 16_383;

/**
 * One frame per second. In long shots the frames are farther apart, so that they fit on one contact
 * sheet.
 */
export const planContactSheet = ({ startSeconds, endSeconds }: Shot, frame: Size): ContactSheet => {
  const seconds = endSeconds - startSeconds;
  const tiles = Math.min(Math.max(Math.floor(seconds + 1e-6), 1), MAX_TILES);
  const columns = Math.min(tiles, MAX_COLUMNS);
  const rows = Math.ceil(tiles / columns);
  // Limits the height of very tall frames.
  const maxHeight = Math.floor(MAX_SIDE / rows / 2) * 2;
  const height = even((frame.height * TILE_WIDTH) / frame.width);
  const tile =
    height <= maxHeight
      ? { width: TILE_WIDTH, height }
      : { width: even((frame.width * maxHeight) / frame.height), height: maxHeight };
  const step = seconds / tiles;
  return { times: Array.from({ length: tiles }, (_, number) => startSeconds + number * step), tile, columns, rows };
};
