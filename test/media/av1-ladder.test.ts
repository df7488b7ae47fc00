/** Rungs in AV1 beside the ladder: every frame once, equal bytes, one init segment. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeVideoSegment } from '#kinora/engine/video/segment.js';
import { systemClock } from '#kinora/lib/clock.js';
import { withAv1 } from '#kinora/media/plan/av1-ladder.js';
import { MEDIA_THREADS } from '#kinora/packager/segment-jobs.js';
import { verifyVideoInit, verifyVideoSegment } from '#kinora/packager/verify-segment.js';
import { MediaPool, mediaPriority } from '#kinora/pool/media-pool.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { readExactFrames } from '../support/media/measure.js';
import {
  initOf,
  makeSegment,
  makeSegments,
  type PlannedSource,
  planFile,
  segmentJob,
  segmentNumbers,
  withFolder,
} from '../support/media/video-run.js';
import { memoryLogger } from '../support/memory-logger.js';

const planned = async (name: EncodedName): Promise<PlannedSource> => {
  const source = await planFile(await fixture(name), { quality: 'plus' });
  return { ...source, video: withAv1({ video: source.video }).video };
};

/** The default of `KINORA_MEDIA_MEMORY`. */
const MEDIA_MEMORY = 2 * 2 ** 30;
const NAMES: readonly EncodedName[] = ['h264-aac.mp4', 'vfr.mp4', 'av1-aac.mp4'];

test.each(NAMES)('%s: each frame is shown once, at the time of H.264', async (name) => {
  const source = await planned(name);
  const { video } = source;
  expect(video.av1!.map(({ width, height }) => [width, height])).toEqual(
    video.renditions.map(({ width, height }) => [width, height]),
  );
  const [rung] = video.av1!;
  const init = initOf(source, rung!);
  verifyVideoInit(init, video, rung!);
  const made: Buffer[] = [];
  for (const number of segmentNumbers(source)) {
    const { bytes, ...result } = await makeSegment(source, rung!, number);
    expect(verifyVideoSegment(bytes, video, rung!, number, result)).toBe(0);
    made.push(bytes);
  }
  const shown = readExactFrames([init, ...made]);
  const h264 = video.renditions[0]!;
  const expected = readExactFrames([
    initOf(source, h264),
    ...(await makeSegments(source, h264, segmentNumbers(source))),
  ]);
  // FFmpeg leaves out the last repeats of a frame behind an edit list, which AV1 does not need.
  const counted = shown.slice(0, expected.length);
  expect(counted.map(({ counter }) => counter)).toEqual(expected.map(({ counter }) => counter));
  expect(new Set(shown.map(({ counter }) => counter)).size).toBe(new Set(expected.map(({ counter }) => counter)).size);
  for (const [frame, { ptsSeconds }] of counted.entries())
    expect(ptsSeconds).toBeCloseTo(expected[frame]!.ptsSeconds, 3);
  const alone = made.flatMap((bytes) => readExactFrames([init, bytes]));
  expect(alone.map(({ digest }) => digest)).toEqual(shown.map(({ digest }) => digest));
});

describe('a segment', () => {
  test('has the same bytes with one, two and four threads', async () => {
    const source = await planned('h264-aac.mp4');
    await withFolder(async (folder) => {
      const outPath = join(folder, 'segment');
      const segments: Buffer[] = [];
      for (const threads of [1, 2, 4]) {
        await writeVideoSegment({ ...segmentJob(source, source.video.av1!.at(-1)!, 0, outPath), threads });
        segments.push(readFileSync(outPath));
      }
      expect(segments[1]!.equals(segments[0]!)).toBe(true);
      expect(segments[2]!.equals(segments[0]!)).toBe(true);
    });
  });

  test('in 2160p keeps within the memory of a media process', async () => {
    const source = await planFile(await fixture('video-2160p.mp4'), { quality: 'plus', maxResolutionTier: '2160p' });
    const { video } = { ...source, video: withAv1({ video: source.video }).video };
    const rung = video.av1!.find(({ height }) => height === 2160)!;
    await withFolder(async (folder) => {
      const outPath = join(folder, 'segment');
      const pool = await MediaPool.start({
        ...{ size: 1, readDirs: [dirname(source.path)], writeDir: folder },
        ...{ memoryBytes: MEDIA_MEMORY, logger: memoryLogger(), clock: systemClock },
      });
      const job = { ...segmentJob(source, rung, 0, outPath), threads: MEDIA_THREADS };
      try {
        const result = await pool.run(job, { priority: mediaPriority.background });
        expect(verifyVideoSegment(readFileSync(outPath), video, rung, 0, result)).toBe(0);
      } finally {
        await pool.stop();
      }
    });
  });
});
