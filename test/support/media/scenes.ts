import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeMedia } from './fixture-media.js';

/** Sources of FFmpeg that look different from each other, and move. */
const SIZE = '320x180';
const finish = (seconds: number) => `trim=duration=${seconds},setpts=PTS-STARTPTS,format=yuv420p,setsar=1`;
export const scenes = {
  chart: (seconds: number) => `testsrc2=size=${SIZE}:rate=30,${finish(seconds)}`,
  fractal: (seconds: number) => `mandelbrot=size=${SIZE}:rate=30:start_scale=0.5:end_scale=0.3,${finish(seconds)}`,
  bars: (seconds: number) => `smptehdbars=size=${SIZE}:rate=30,${finish(seconds)}`,
  // Not the source `gradients`, whose frames are not the same each time.
  ramp: (seconds: number) => `rgbtestsrc=size=${SIZE}:rate=30,scroll=horizontal=0.002,${finish(seconds)}`,
  // Not from its first frame: most cells die between that and the second one, which is nearly a
  // cut.
  cells: (seconds: number) =>
    `life=size=${SIZE}:rate=30:ratio=0.3:seed=3:mold=10:life_color=#C83232:death_color=#3232C8,trim=start=2,${finish(seconds)}`,
  dark: (seconds: number) => `color=black:size=${SIZE}:rate=30,${finish(seconds)}`,
} as const;

/** Labels given chains `a0`, `a1` … and puts them one after the other. */
export const oneAfterAnother = (...chains: readonly string[]): string =>
  [
    ...chains.map((chain, number) => `${chain}[a${number}]`),
    `${chains.map((_, number) => `[a${number}]`).join('')}concat=n=${chains.length}`,
  ].join(';');

/**
 * Writes a silent H.264 file of 30 frames a second that a graph of filters without an input makes;
 * its path.
 */
export const writeScenes = (graph: string, muxer: 'mp4' | 'mpegts' = 'mp4'): string => {
  const path = join(tmpdir(), `kinora-scenes-${randomBytes(6).toString('hex')}.${muxer}`);
  const options = { preset: 'veryfast', crf: '23', 'x264-params': 'threads=1' };
  const rate = [30, 1] as const;
  const video = { width: 320, height: 180, rate, encoder: 'libx264', options, gop: 90, bFrames: 2 };
  // The painted frame goes nowhere; the graph brings its own.
  writeMedia({ muxer, seconds: 0.1, video: { ...video, filter: `nullsink;${graph}` } }, path);
  return path;
};
