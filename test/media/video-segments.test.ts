import { describe, expect, test } from 'vitest';
import { verifyFragment } from '#kinora/media/mp4/fragment-verifier.js';
import { type EncodedName, fixture, recipeOf } from '../support/media/fixtures.js';
import { probeFile as measureFile, readExactFrames, readFrameCounters } from '../support/media/measure.js';
import { initOf, makeSegment, type PlannedSource, planFile, segmentNumbers } from '../support/media/video-run.js';

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const sources: EncodedName[] = [
  'h264-aac.mp4',
  'h264-fragmented.mp4',
  'h264-mp3.mkv',
  'h264-aac.ts',
  'h264-mp3.avi',
  'h264-aac.flv',
  'hevc-aac.mp4',
  'vp9-opus.webm',
  'av1-aac.mp4',
  'mpeg2-ac3.ts',
  'mpeg4-b-frames.avi',
  'prores-pcm.mov',
  'fps-29.97.mp4',
  'fps-59.94.mkv',
  'vfr.mkv',
  'portrait-270.mov',
  'interlaced-tff.ts',
  'interlaced-mpeg2.ts',
  'hdr-pq.mp4',
  'open-gop.mp4',
  'open-gop-hevc.mkv',
  'intra-refresh.mp4',
  'start-10s.mkv',
  'start-3600s.ts',
  'time-wrap.ts',
  'video-late.mp4',
];

/**
 * The segments of a rendition, each checked against the plan, in the order in which they are asked
 * for.
 */
const makeSegments = async (source: PlannedSource, order: readonly number[]): Promise<Buffer[]> => {
  const rendition = source.video.renditions[0]!;
  const made: Buffer[] = [];
  for (const number of order) {
    const { bytes, sampleCount, sizeBytes, frameCount } = await makeSegment(source, rendition, number);
    const start = source.video.boundaries[number]!;
    verifyFragment(bytes, {
      baseDecodeTicks: start,
      durationTicks: source.video.boundaries[number + 1]! - start,
      sampleCount,
      firstSync: true,
      ...(rendition.reorderTicks !== undefined && { reorderTicks: rendition.reorderTicks }),
    });
    expect(sizeBytes).toBe(bytes.length);
    if (source.video.frameCounts) expect(frameCount).toBe(source.video.frameCounts[number]);
    made[number] = bytes;
  }
  return made;
};

describe('every frame is in exactly one segment', () => {
  test.each(sources)(
    '%s',
    async (name) => {
      const source = await planFile(await fixture(name));
      const recipe = recipeOf(name);
      const { rate, interlaced, deltasMs } = recipe.video!;
      const seconds = recipe.video!.seconds ?? recipe.seconds;
      const frames = Math.round((seconds * rate[0]) / rate[1]) / (interlaced ? 2 : 1);
      const counters = numbers(0, deltasMs ? source.index.video!.pts.length : frames);
      const rendition = source.video.renditions[0]!;
      const init = initOf(source, rendition);
      const order = segmentNumbers(source);
      const inOrder = await makeSegments(source, order);
      // In any other order each segment is decoded after a seek.
      const backwards = await makeSegments(source, order.toReversed());

      const joined = readFrameCounters([init, ...inOrder]);
      expect(joined.map(({ counter }) => counter)).toEqual(counters);
      const alone = backwards.flatMap((segment) => readFrameCounters([init, segment]));
      expect(alone.map(({ counter }) => counter)).toEqual(counters);
      const { timeBase, originTicks, timescale } = source.video;
      const times = [...source.index.video!.pts]
        .map((pts) => (pts * timeBase.num - originTicks) / timescale)
        .sort((a, b) => a - b);
      // The first frame is displayed from zero on.
      times[0] = 0;
      // FFmpeg reads the very times of the source: no frame is late against the audio.
      joined.forEach(({ ptsSeconds }, index) => {
        expect(ptsSeconds).toBeCloseTo(times[index]!, 3);
      });
      const measured = measureFile([init, ...inOrder]).streams[0]!;
      expect([measured.width, measured.height, measured.rotation]).toEqual([rendition.width, rendition.height, 0]);
      expect(measured.sampleAspect).toBe(1);
    },
    60_000,
  );
});

test('a source faster than 60 frames a second keeps every second one', async () => {
  const source = await planFile(await fixture('fps-120.mp4'));
  const rendition = source.video.renditions[0]!;
  const { bytes, sampleCount, frameCount } = await makeSegment(source, rendition, 1);
  expect([sampleCount, frameCount]).toEqual([180, 360]);
  const counters = readFrameCounters([initOf(source, rendition), bytes]).map(({ counter }) => counter);
  expect(counters).toEqual(numbers(60, 180).map((index) => 2 * index));
});

test('frames before the edit are not shown', async () => {
  const source = await planFile(await fixture('edit-list.mp4'));
  const rendition = source.video.renditions[0]!;
  const made = await makeSegments(source, segmentNumbers(source));
  const counters = readFrameCounters([initOf(source, rendition), ...made]).map(({ counter }) => counter);
  // 1.25 s at 30 frames a second are cut.
  expect(counters).toEqual(numbers(38, 240 - 38));
});

test('the last frame is held while the audio goes on', async () => {
  const source = await planFile(await fixture('audio-longer.mp4'));
  const rendition = source.video.renditions[0]!;
  const [first, second, third] = await makeSegments(source, [0, 1, 2]);
  const init = initOf(source, rendition);
  expect(readFrameCounters([init, first!, second!]).map(({ counter }) => counter)).toEqual(numbers(0, 120));
  const held = readExactFrames([init, third!]);
  expect(held.map(({ counter }) => counter)).toEqual(Array(6).fill(119));
  // Each second, and three times before the end at 7.3 s.
  const start = source.video.boundaries[2]! / source.video.timescale;
  const expected = [start, start + 1, start + 2, 7.2, 7.2333, 7.2667];
  held.forEach(({ ptsSeconds }, index) => {
    expect(ptsSeconds).toBeCloseTo(expected[index]!, 3);
  });
  // Made alone, in a process that has not read the source before, it is the same.
  const alone = await planFile(await fixture('audio-longer.mp4'));
  const { bytes } = await makeSegment(alone, rendition, 2);
  expect(readExactFrames([init, bytes])).toEqual(held);
});
