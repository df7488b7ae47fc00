import { AV_PIX_FMT_YUV420P10LE } from 'node-av/constants';
import { Frame } from 'node-av/lib';
import { expect, test } from 'vitest';
import { FrameFilter } from '#kinora/engine/video/frame-filter.js';
import { MEDIA_THREADS } from '#kinora/packager/segment-jobs.js';

const timeBase = { num: 1, den: 30 };
/** A gray frame of 10 bit; each plane of color has half as many columns and rows, rounded up. */
const greyFrame = (width: number, height: number) => {
  const samples = width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2);
  return { width, height, bytes: Buffer.from(new Uint16Array(samples).fill(512).buffer) };
};

/** Whether every sample of the planes of a gray frame has the value of the first. */
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
const FEW_SIDES = [15, 16, 33, 53];
const EVEN = greyFrame(96, 64);
const ODD = greyFrame(97, 65);

test.each([
  { toneMap: 'pq', source: EVEN, sides: SIDES },
  { toneMap: 'hlg', source: EVEN, sides: SIDES },
  { toneMap: undefined, source: EVEN, sides: SIDES },
  { toneMap: 'pq', source: ODD, sides: FEW_SIDES },
  { toneMap: 'hlg', source: ODD, sides: FEW_SIDES },
  { toneMap: undefined, source: ODD, sides: FEW_SIDES },
] as const)(
  'every size is filled to its edges ($toneMap from $source.width x $source.height)',
  ({ toneMap, source, sides }) => {
    const color = { primaries: '', transfer: '', matrix: '', range: '' };
    const chain = { deinterlace: false, color, rotation: 0, flipHorizontal: false, testMark: false } as const;
    const filters = { ...chain, ...(toneMap && { toneMap }) };
    const filled: string[] = [];
    const sizes = sides.flatMap((width) => sides.map((height) => ({ width, height })));
    for (const size of sizes) {
      const { bytes, ...sourceSize } = source;
      const frame = Frame.fromVideoBuffer(bytes, { ...sourceSize, format: AV_PIX_FMT_YUV420P10LE, timeBase });
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
