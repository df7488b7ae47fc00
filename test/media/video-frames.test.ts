import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AV_PIX_FMT_YUV420P10LE } from 'node-av/constants';
import { Frame } from 'node-av/lib';
import { describe, expect, test } from 'vitest';
import { orientationOf } from '#kinora/engine/ffmpeg/orientation.js';
import { filterRange } from '#kinora/engine/video/filter-range.js';
import { FrameFilter } from '#kinora/engine/video/frame-filter.js';
import { VideoReader } from '#kinora/engine/video/reader.js';
import { writeVideoSegment } from '#kinora/engine/video/segment.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { readFrameCounters } from '../support/media/measure.js';
import {
  initOf,
  makeSegment,
  type PlannedSource,
  planFile,
  segmentJob,
  segmentNumbers,
  withFolder,
} from '../support/media/video-run.js';

interface Seen {
  readonly pts: number;
  readonly hash: string;
  readonly planes: readonly [luma: number, u: number, v: number];
}

const mean = (bytes: Buffer): number => {
  let sum = 0;
  // Every byte of every frame: a call for each would take most of the time.
  for (let at = 0; at < bytes.length; at++) sum += bytes[at]!;
  return sum / bytes.length;
};

const look = (frame: Frame, pts: number): Seen => {
  const bytes = frame.toBuffer();
  const size = frame.width * frame.height;
  const planes = [bytes.subarray(0, size), bytes.subarray(size, size * 1.25), bytes.subarray(size * 1.25)].map(mean);
  return { pts, hash: createHash('sha1').update(bytes).digest('hex'), planes: planes as [number, number, number] };
};

/** Filtered frames of [fromPts, untilPts). */
const readRange = (
  { video, facts }: PlannedSource,
  reader: VideoReader,
  range: { fromPts?: number; untilPts: number; seekPoint?: { position: number; pts: number } },
): Seen[] => {
  const { width, height } = video.renditions[0]!;
  const seen: Seen[] = [];
  const filter = new FrameFilter(
    { filters: video.filters, crop: undefined, width, height, timeBase: facts.video!.timeBase, threads: 1 },
    (frame, pts) => {
      if (pts >= (range.fromPts ?? pts) && pts < range.untilPts) seen.push(look(frame, pts));
    },
  );
  try {
    filterRange(reader, filter, { ...range, neighbours: video.filters.deinterlace });
  } finally {
    filter.close();
  }
  return seen;
};

const readWhole = (source: PlannedSource): Seen[] => {
  const reader = new VideoReader({ path: source.path }, source.video.streamIndex, 1);
  try {
    return readRange(source, reader, { untilPts: Number.POSITIVE_INFINITY });
  } finally {
    reader.close();
  }
};

describe('a segment read alone equals the same part of the whole', () => {
  const names: EncodedName[] = [
    'interlaced-tff.ts',
    'interlaced-mpeg2.ts',
    'open-gop.mp4',
    'open-gop-hevc.mkv',
    'intra-refresh.mp4',
    'mpeg2-ac3.ts',
    'mpeg4-b-frames.avi',
    'h264-mp3.avi',
    'time-wrap.ts',
    'vfr.mkv',
    'edit-list.mp4',
  ];
  test.each(names)(
    '%s',
    async (name) => {
      const source = await planFile(await fixture(name));
      const { boundaries, originTicks, timeBase, seekPoints } = source.video;
      const toPts = (ticks: number): number => Math.ceil((ticks + originTicks) / timeBase.num);
      const whole = readWhole(source).filter(({ pts }) => pts >= toPts(0));
      const reader = new VideoReader({ path: source.path }, source.video.streamIndex, 2);
      try {
        // Back to front: each is read after a seek. Then front to back: each continues where the
        // one before ended.
        const order = segmentNumbers(source);
        for (const numbers of [order.toReversed(), order]) {
          const parts: Seen[][] = [];
          for (const number of numbers) {
            const seekPoint = seekPoints?.[number];
            parts[number] = readRange(source, reader, {
              fromPts: toPts(boundaries[number]!),
              untilPts: toPts(boundaries[number + 1]!),
              ...(seekPoint && { seekPoint }),
            });
          }
          expect(parts.flat()).toEqual(whole);
        }
      } finally {
        reader.close();
      }
      expect(whole.length).toBeGreaterThan(100);
    },
    60_000,
  );
});

// Without seek points: by time, in MPEG streams by halving.
test.each(['open-gop.mp4', 'mpeg2-ac3.ts', 'start-3600s.ts', 'h264-mp3.avi'] as const)(
  'every place of %s can be read, in any order',
  async (name) => {
    const source = await planFile(await fixture(name));
    const whole = readWhole(source);
    const reader = new VideoReader({ path: source.path }, source.video.streamIndex, 1);
    try {
      for (const start of [150, 3, 121, 122, 59, 60, 61, 179, 0]) {
        const fromPts = whole[start]!.pts;
        const untilPts = whole[start + 5]?.pts ?? Number.POSITIVE_INFINITY;
        expect(readRange(source, reader, { fromPts, untilPts })).toEqual(whole.slice(start, start + 5));
      }
    } finally {
      reader.close();
    }
  },
  60_000,
);

describe('HDR becomes SDR', () => {
  test.each(['hdr-pq.mp4', 'hdr-hlg.mp4'] as const)(
    '%s looks like its SDR original',
    async (name) => {
      const hdr = await planFile(await fixture(name));
      const sdr = await planFile(await fixture('h264-aac.mp4'));
      expect(hdr.video.filters.toneMap).toBe(name === 'hdr-pq.mp4' ? 'pq' : 'hlg');
      const frames = readWhole(hdr);
      const originals = readWhole(sdr);
      expect(frames).toHaveLength(originals.length);
      const [luma, u, v] = frames[45]!.planes;
      const [wantedLuma, wantedU, wantedV] = originals[45]!.planes;
      expect(Math.abs(luma / wantedLuma - 1)).toBeLessThan(0.12);
      expect(Math.abs(u - wantedU)).toBeLessThan(4);
      expect(Math.abs(v - wantedV)).toBeLessThan(4);
      const contrast = (seen: readonly Seen[]): number => seen[2]!.planes[0] - seen[15]!.planes[0];
      // Frame 2 has the flash, frame 15 has not.
      expect(contrast(frames) / contrast(originals)).toBeGreaterThan(0.75);
      expect(contrast(frames) / contrast(originals)).toBeLessThan(1.25);
    },
    60_000,
  );
});

/** Luma of a gray ramp from black to full signal, 0 to 100 % in 64 steps, after tone mapping. */
const mapRamp = (toneMap: 'pq' | 'hlg'): number[] => {
  const [width, height] = [128, 64];
  const ramp = Buffer.alloc(width * height * 3);
  for (let at = 0; at < (width * height * 3) / 2; at += 1) {
    const step = Math.floor((at % width) / 2);
    ramp.writeUInt16LE(at < width * height ? 64 + Math.round((876 * step) / 63) : 512, at * 2);
  }
  const timeBase = { num: 1, den: 30 };
  const frame = Frame.fromVideoBuffer(ramp, { width, height, format: AV_PIX_FMT_YUV420P10LE, timeBase });
  const color = { primaries: '', transfer: '', matrix: '', range: '' };
  const filters = { deinterlace: false, toneMap, color, rotation: 0, flipHorizontal: false, testMark: false } as const;
  const luma: number[] = [];
  const filter = new FrameFilter({ filters, crop: undefined, width, height, timeBase, threads: 1 }, (result) => {
    const row = result.toBuffer().subarray(32 * width, 33 * width);
    for (let step = 0; step < 64; step += 1) luma.push(row[step * 2]!);
  });
  try {
    filter.push(frame, 0);
    filter.flush();
  } finally {
    filter.close();
    frame.free();
  }
  return luma;
};

test.each(['pq', 'hlg'] as const)('what is brighter in %s is never darker in SDR', (toneMap) => {
  const luma = mapRamp(toneMap);
  expect(luma).toHaveLength(64);
  expect(luma[0]).toBe(16);
  luma.forEach((value, step) => {
    if (step > 0) expect(value, `step ${step}`).toBeGreaterThanOrEqual(luma[step - 1]!);
  });
  // Light twice as bright as white still shows detail: it has not reached full white yet.
  expect(luma.at(-1)).toBeGreaterThan(228);
  expect(luma[Math.round(63 * 0.66)]).toBeLessThan(225);
});

test('HLG keeps the lower half of its signal, as displays without HDR show it', () => {
  const luma = mapRamp('hlg');
  for (let step = 0; step < 32; step += 1) expect(Math.abs(luma[step]! - (16 + (219 * step) / 63))).toBeLessThan(3);
});

test('test assets carry a mark in the bottom right corner, and only there', async () => {
  const path = await fixture('hevc-aac.mp4');
  const plain = await planFile(path);
  const marked: PlannedSource = {
    ...plain,
    video: { ...plain.video, filters: { ...plain.video.filters, testMark: true } },
  };
  const { width, height } = plain.video.renditions[0]!;
  const bytesOf = (source: PlannedSource): Buffer => {
    const reader = new VideoReader({ path }, 0, 1);
    let bytes: Buffer | undefined;
    const filter = new FrameFilter(
      {
        filters: source.video.filters,
        crop: undefined,
        width,
        height,
        timeBase: source.facts.video!.timeBase,
        threads: 1,
      },
      (frame) => {
        bytes ??= frame.toBuffer();
      },
    );
    const first = reader.take()!;
    filter.push(first.frame, first.pts);
    filter.flush();
    filter.close();
    reader.close();
    return bytes!;
  };
  const before = bytesOf(plain);
  const after = bytesOf(marked);
  const changed = Array.from(before.keys()).filter((at) => before[at] !== after[at]);
  expect(changed.length).toBeGreaterThan(50);
  expect(changed.every((at) => at < width * height && at % width > width * 0.85 && at / width > height * 0.85)).toBe(
    true,
  );
  expect(changed.every((at) => after[at]! > before[at]!)).toBe(true);
});

test('one init segment serves whatever the content and the number of threads', async () => {
  const source = await planFile(await fixture('open-gop.mp4'));
  const other = await planFile(await fixture('hevc-aac.mp4'));
  const rendition = source.video.renditions[0]!;
  expect(rendition.encoder).toEqual(other.video.renditions[0]!.encoder);
  const init = initOf(source, rendition);
  expect(Buffer.from(init).equals(Buffer.from(initOf(other, rendition)))).toBe(true);
  await withFolder(async (folder) => {
    const outPath = join(folder, 'segment');
    for (const threads of [1, 2, 4]) {
      await writeVideoSegment({ ...segmentJob(source, rendition, 1, outPath), threads });
      expect(readFrameCounters([init, readFileSync(outPath)])).toHaveLength(90);
    }
  });
  const { bytes } = await makeSegment(other, rendition, 1);
  expect(readFrameCounters([init, bytes])).toHaveLength(60);
});

test('orientation of display matrices', () => {
  const matrix = (a: number, b: number, c: number, d: number): Buffer =>
    Buffer.from(new Int32Array([a * 65536, b * 65536, 0, c * 65536, d * 65536, 0, 0, 0, 1 << 30]).buffer);
  const orient = (...values: [number, number, number, number]) => {
    const { rotation, flipHorizontal } = orientationOf(matrix(...values));
    return [rotation, flipHorizontal];
  };
  expect(orient(1, 0, 0, 1)).toEqual([0, false]);
  expect(orient(0, 1, -1, 0)).toEqual([90, false]);
  expect(orient(-1, 0, 0, -1)).toEqual([180, false]);
  expect(orient(0, -1, 1, 0)).toEqual([270, false]);
  // Mirrored left-right; mirrored top-bottom is half a rotation, then left-right.
  expect(orient(-1, 0, 0, 1)).toEqual([0, true]);
  expect(orient(1, 0, 0, -1)).toEqual([180, true]);
  // Transposed: a quarter rotation clockwise, then left-right.
  expect(orient(0, 1, 1, 0)).toEqual([90, true]);
  expect(orientationOf(null)).toEqual({ rotation: 0, flipHorizontal: false });
});
