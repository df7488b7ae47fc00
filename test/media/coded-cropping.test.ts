import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { VideoReader } from '#kinora/engine/video/reader.js';
import { readRgbFrames } from '../support/media/measure.js';
import { withMezzanine } from '../support/media/mezzanine-run.js';
import { initOf, makeSegment, planFile, probeFile, withFolder } from '../support/media/video-run.js';

const FFMPEG = 'ffmpeg';

const ffmpeg = (...args: string[]): Buffer =>
  execFileSync(FFMPEG, ['-v', 'error', '-nostdin', '-y', ...args], { maxBuffer: 1 << 26 });

const ENCODERS = {
  h264: ['libx264', '-pix_fmt', 'yuv420p'],
  hevc: ['libx265', '-pix_fmt', 'yuv420p', '-x265-params', 'log-level=none'],
  'hevc 10-bit': ['libx265', '-pix_fmt', 'yuv420p10le', '-x265-params', 'log-level=none'],
} as const;

/** Pixels that the SPS cuts from the left, right, top and bottom of 352x288. */
const CROPS = [
  [2, 0, 0, 0],
  [26, 26, 0, 0],
  [32, 18, 0, 0],
  [64, 0, 20, 34],
  [0, 40, 18, 0],
] as const;

describe.each(Object.entries(ENCODERS))('%s', (name, encoder) => {
  test('the cropping of the SPS is applied to the pixel, whatever its size', async () => {
    await withFolder(async (folder) => {
      const whole = join(folder, 'whole.mp4');
      const size = 'testsrc=size=352x288:rate=10:duration=0.5';
      ffmpeg('-f', 'lavfi', '-i', size, '-c:v', ...encoder, '-preset', 'ultrafast', whole);
      for (const [left, right, top, bottom] of CROPS) {
        const path = join(folder, `${left}-${right}-${top}-${bottom}.mp4`);
        const metadata = `crop_left=${left}:crop_right=${right}:crop_top=${top}:crop_bottom=${bottom}`;
        ffmpeg('-i', whole, '-c', 'copy', '-bsf:v', `${name.slice(0, 4)}_metadata=${metadata}`, path);
        const expected = { width: 352 - left - right, height: 288 - top - bottom };
        const { video } = await probeFile(path);
        expect(video, path).toMatchObject({ ...expected, sampleAspect: { num: 1, den: 1 } });
        const cut = `crop=${expected.width}:${expected.height}:${left}:${top}:exact=1`;
        const pixels = ffmpeg('-i', whole, '-vf', cut, '-frames:v', '1', '-f', 'rawvideo', '-');
        const reader = new VideoReader({ path }, 0, 1);
        const { frame } = reader.take()!;
        expect({ width: frame.width, height: frame.height }, path).toEqual(expected);
        expect(frame.toBuffer().equals(pixels), path).toBe(true);
        reader.close();
      }
    });
  });
});

/** The share of pixels that are clearly red. */
const redOf = ({ rgb }: { readonly rgb: Buffer }): number => {
  let red = 0;
  for (let at = 0; at < rgb.length; at += 3) if (rgb[at]! > 140 && rgb[at + 1]! < 90 && rgb[at + 2]! < 90) red++;
  return (red * 3) / rgb.length;
};

describe.each(['h264', 'hevc'] as const)('a red border of 26 pixels that the SPS of %s crops', (name) => {
  const withBordered = (use: (path: string) => Promise<void>): Promise<void> =>
    withFolder(async (folder) => {
      const whole = join(folder, 'whole.mp4');
      const path = join(folder, 'cropped.mp4');
      const source = 'color=gray:size=352x288:rate=10:duration=1,drawbox=t=26:color=red';
      ffmpeg('-f', 'lavfi', '-i', source, '-c:v', ...ENCODERS[name], '-preset', 'ultrafast', whole);
      const metadata = 'crop_left=26:crop_right=26:crop_top=26:crop_bottom=26';
      ffmpeg('-i', whole, '-c', 'copy', '-bsf:v', `${name}_metadata=${metadata}`, path);
      await use(path);
    });

  test('is not visible in encoded renditions, which have the aspect of the source', async () => {
    await withBordered(async (path) => {
      const source = await planFile(path);
      expect(source.facts.video).toMatchObject({ width: 300, height: 236 });
      const encoded = source.video.renditions.filter(({ kind }) => kind === 'encode');
      for (const rendition of source.video.renditions) {
        expect(rendition.width / rendition.height, rendition.kind).toBeCloseTo(300 / 236, 1);
      }
      for (const rendition of encoded) {
        const { bytes } = await makeSegment(source, rendition, 0);
        const frames = readRgbFrames([initOf(source, rendition), bytes]);
        expect(frames).toHaveLength(10);
        for (const frame of frames) expect(redOf(frame)).toBe(0);
      }
    });
  });

  test('is not visible in the mezzanine', async () => {
    await withBordered(async (path) => {
      await withMezzanine(path, 1, (made) => {
        expect(made.facts.video).toMatchObject({ width: 300, height: 236 });
        const frames = readRgbFrames(made.path);
        expect(frames).toHaveLength(10);
        for (const frame of frames) expect(redOf(frame)).toBe(0);
      });
    });
  });
});
