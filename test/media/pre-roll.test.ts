/** Seeks leave out frames that nobody refers to, and find the very frames of a whole decode. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type DecodedFrame, VideoReader } from '#kinora/engine/video/reader.js';
import { type FixtureName, fixture } from '../support/media/fixtures.js';

const describeFrame = (decoded: DecodedFrame | undefined): string | undefined => {
  if (!decoded) return undefined;
  const { frame, pts } = decoded;
  const hash = createHash('sha256');
  for (const [plane, data] of frame.data!.entries()) {
    const stride = frame.linesize[plane]!;
    const [width, height] = plane === 0 ? [frame.width, frame.height] : [frame.width / 2, frame.height / 2];
    for (let y = 0; y < height; y += 1) hash.update(data.subarray(y * stride, y * stride + width));
  }
  return `${pts} ${hash.digest('hex')}`;
};

const withReader = async <T>(name: FixtureName, threads: number, use: (reader: VideoReader) => T): Promise<T> => {
  const reader = new VideoReader({ path: await fixture(name) }, 0, threads);
  try {
    return use(reader);
  } finally {
    reader.close();
  }
};

const readAll = (reader: VideoReader): string[] => {
  const frames: string[] = [];
  for (let next = reader.take(); next; next = reader.take()) frames.push(describeFrame(next)!);
  return frames;
};

const ptsOf = (frame: string): number => Number(frame.split(' ')[0]);

/** The places of frames far from each other, each time after a seek. */
const spread = (count: number): number[] => [0.93, 0.41, 0.77, 0.56, 0.99, 0.24].map((at) => Math.floor(at * count));

const skipping: FixtureName[] = ['one-key-frame.mp4', 'h264-fragmented.mp4', 'open-gop.mp4'];
const others: FixtureName[] = [
  'vfr.mp4',
  'slides.mp4',
  'interlaced-tff.ts',
  'intra-refresh.mp4',
  'h264-mp3.avi',
  'hevc-aac.mp4',
];

describe.each([...skipping, ...others])('%s', (name) => {
  test('the frame that is sought, the one before and those after are those of a whole decode', async () => {
    const all = await withReader(name, 2, readAll);
    await withReader(name, 2, (reader) => {
      let hasSkipped = false;
      for (const place of spread(all.length)) {
        reader.seek(ptsOf(all[place]!), { wantPrevious: true });
        hasSkipped ||= reader.hasSkipped;
        expect(describeFrame(reader.previous)).toBe(all[place - 1]);
        for (let after = place; after < Math.min(place + 4, all.length); after += 1)
          expect(describeFrame(reader.take())).toBe(all[after]);
      }
      if (skipping.includes(name)) expect(hasSkipped).toBe(true);
    });
  });
});

test('a frame that is displayed for long is found after the frames that were left out', async () => {
  const name = 'slides.mp4';
  const all = await withReader(name, 1, readAll);
  await withReader(name, 1, (reader) => {
    const end = ptsOf(all.at(-1)!);
    reader.seek(end + 1, { wantPrevious: true });
    expect(describeFrame(reader.previous)).toBe(all.at(-1));
    expect(reader.peek()).toBeUndefined();
  });
});

// One thread: with more, what stands in for missing parts depends on their timing.
test('damage on the way to a frame makes the reader decode every frame', async () => {
  const name = 'bit-flips.ts';
  const decodeAt = (seconds: number) =>
    withReader(name, 1, (reader) => {
      const { num, den } = reader.timeBase;
      reader.seek(reader.startPts + (seconds * den) / num, { wantPrevious: true });
      return [describeFrame(reader.previous), describeFrame(reader.peek()), reader.errors, reader.hasSkipped];
    });
  for (const seconds of [1.9, 3.9]) {
    const [previous, next, errors, hasSkipped] = await decodeAt(seconds);
    expect(errors).toBeGreaterThan(0);
    expect([previous !== undefined, next !== undefined, hasSkipped]).toEqual([true, true, false]);
  }
});
