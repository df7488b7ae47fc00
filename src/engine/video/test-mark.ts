import type { Frame } from 'node-av/lib';
import { check } from '../ffmpeg/av.js';

/** "KINORA" in seven rows of 6 x 5 pixels, with a column between the letters. */
const MARK = [
  '#...# ##### #...# .###. ####. .###.',
  '#..#. ..#.. ##..# #...# #...# #...#',
  '#.#.. ..#.. #.#.# #...# #...# #...#',
  '##... ..#.. #.#.# #...# ####. #####',
  '#.#.. ..#.. #..## #...# #.#.. #...#',
  '#..#. ..#.. #...# #...# #..#. #...#',
  '#...# ##### #...# .###. #...# #...#',
] as const;
const COLUMNS = MARK[0].length;
const OPACITY = 0.6;
const WHITE = 235;

/**
 * Burns the mark of test assets into the bottom right corner of a limited-range yuv420p frame, at
 * 10 % of its width.
 */
export const burnTestMark = (frame: Frame): void => {
  check(frame.makeWritable(), 'burn mark');
  const luma = frame.data?.[0];
  const stride = frame.linesize[0];
  if (luma === undefined || stride === undefined) return;
  const width = Math.round(frame.width / 10);
  const height = Math.round((width * MARK.length) / COLUMNS);
  const margin = Math.round(width / 5);
  const left = frame.width - width - margin;
  const top = frame.height - height - margin;
  for (let y = 0; y < height; y++) {
    const row = MARK[Math.floor((y * MARK.length) / height)]!;
    for (let x = 0; x < width; x++) {
      if (row[Math.floor((x * COLUMNS) / width)] !== '#') continue;
      const at = (top + y) * stride + left + x;
      luma[at] = Math.round(luma[at]! * (1 - OPACITY) + WHITE * OPACITY);
    }
  }
};
