import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decideAccess } from '#kinora/media/plan/mezzanine-decision.js';
import type { VideoRendition } from '#kinora/media/plan/plan.js';
import { planAsset } from '#kinora/media/plan/plan-asset.js';
import { readFrameCounters } from '../support/media/measure.js';
import { withMezzanine } from '../support/media/mezzanine-run.js';
import { listTimeCases, type TimeFile, writeTimeFile } from '../support/media/time-matrix.js';
import {
  initOf,
  makeSegment,
  type PlannedSource,
  planFile,
  segmentNumbers,
  withFolder,
} from '../support/media/video-run.js';

/** The frames of a rendition, without repeats of the one before. */
const playedFrames = (source: PlannedSource, rendition: VideoRendition) => {
  const segments = segmentNumbers(source).map((number) => makeSegment(source, rendition, number).bytes);
  return readFrameCounters([initOf(source, rendition), ...segments]).filter(
    ({ counter }, frame, all) => counter !== all[frame - 1]?.counter,
  );
};

const expectFrames = (
  source: PlannedSource,
  rendition: VideoRendition,
  { frames, durationSeconds }: TimeFile,
): void => {
  const wanted = frames.filter((_, frame) => frame % rendition.frameStep === 0);
  const played = playedFrames(source, rendition);
  // Only every second or fourth frame is shown, and the last one where it is held.
  if (rendition.frameStep > 1 && played.length > wanted.length)
    expect(played.pop()!.counter).toBe(frames.at(-1)!.counter);
  expect(played.map(({ counter }) => counter)).toEqual(wanted.map(({ counter }) => counter));
  played.forEach(({ ptsSeconds }, frame) => {
    expect(Math.abs(ptsSeconds - wanted[frame]!.seconds)).toBeLessThan(1e-6);
  });
  const { boundaries, timescale } = source.video;
  expect(Math.abs(boundaries.at(-1)! / timescale - durationSeconds)).toBeLessThan(1e-6);
};

const settings = { quality: 'plus', maxResolutionTier: '1080p', isTest: false } as const;
const cases = listTimeCases();

describe(`of ${cases.length} files with every pair of a time base, rate, edit list, order and last frame`, () => {
  it.each(cases)('$timescale, $rate, $edit, $frames, $last: every frame has its time', async (of) => {
    await withFolder(async (folder) => {
      const file = await writeTimeFile(of);
      const path = join(folder, 'file.mp4');
      writeFileSync(path, file.bytes);
      const source = await planFile(path, settings);
      const { facts, index } = source;
      const isDirect = decideAccess(facts, index).access === 'direct';
      expect(isDirect).toBe(of.frames !== 'B-frames without offsets');
      // Encoded and, where it can be, copied.
      for (const rendition of isDirect ? source.video.renditions : []) expectFrames(source, rendition, file);
      await withMezzanine(path, 1, (made) => {
        const { width, height, timeBase } = made.facts.video!;
        const mezzanine = { index: made.index.video!, width, height, timeBase };
        const plan = planAsset({ facts, index, settings, mezzanine });
        const played = { ...source, path: made.path, plan, video: plan.video! };
        expectFrames(played, played.video.renditions[0]!, file);
      });
    });
  });
});
