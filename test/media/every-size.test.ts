import { AV_PIX_FMT_YUV420P10LE } from 'node-av/constants';
import { Frame } from 'node-av/lib';
import { expect, test } from 'vitest';
import { FrameFilter } from '#kinora/engine/video/frame-filter.js';
import { MEDIA_THREADS } from '#kinora/packager/segment-jobs.js';

const SOURCE = { width: 96, height: 64 };
const timeBase = { num: 1, den: 30 };
const GREY = Buffer.from(new Uint16Array((SOURCE.width * SOURCE.height * 3) / 2).fill(512).buffer);

/** Whether every sample of the planes of a grey frame has the value of the first. */
const isPlain = (frame: Frame): boolean =>
  [0, 1, 2].every((plane) => {
    const [data, stride] = [frame.data![plane]!, frame.linesize[plane]!];
    const shift = plane === 0 ? 0 : 1;
    const [width, height] = [(frame.width + shift) >> shift, (frame.height + shift) >> shift];
    return Array.from({ length: height }, (_, row) => data.subarray(row * stride, row * stride + width)).every((row) =>
      row.every((value) => Math.abs(value - data[0]!) <= 2),
    );
  });

// Odd and even, around the sizes at which vector code and slices begin and end.
const SIDES = [15, 16, 17, 18, 19, 21, 29, 31, 32, 33, 35, 47, 49, 51, 53];

test.each(['pq', 'hlg', undefined] as const)(
  'every size is filled to its edges (%s)',
  (toneMap) => {
    const color = { primaries: '', transfer: '', matrix: '', range: '' };
    const chain = { deinterlace: false, color, rotation: 0, flipHorizontal: false, testMark: false } as const;
    const filters = { ...chain, ...(toneMap && { toneMap }) };
    const filled: string[] = [];
    const sizes = SIDES.flatMap((width) => SIDES.map((height) => ({ width, height })));
    for (const size of sizes) {
      const frame = Frame.fromVideoBuffer(GREY, { ...SOURCE, format: AV_PIX_FMT_YUV420P10LE, timeBase });
      const settings = { filters, crop: undefined, ...size, timeBase, threads: MEDIA_THREADS };
      const filter = new FrameFilter(settings, (result) => {
        if (isPlain(result)) filled.push(`${result.width} x ${result.height}`);
      });
      try {
        filter.push(frame, 0);
        filter.flush();
      } finally {
        filter.close();
        frame.free();
      }
    }
    expect(filled).toEqual(sizes.map(({ width, height }) => `${width} x ${height}`));
  },
  120_000,
);
