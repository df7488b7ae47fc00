import { describe, expect, test } from 'vitest';
import { audioFacts, sourceFacts, steadyIndex, videoFacts } from '../../../test/support/media/media-values.js';
import { planAlternateAudio } from './alternate-audio.js';
import { planAsset } from './plan-asset.js';

const settings = { quality: 'plus', maxResolutionTier: '1080p', isTest: false } as const;
const ntsc = { num: 1, den: 30_000 };
/** 300 frames at 29.97 a second: 10.01 s, cut at 4.004 and 8.008 s. */
const silent = planAsset({
  facts: sourceFacts({ video: videoFacts({ timeBase: ntsc, frameRate: { num: 30_000, den: 1001 } }) }),
  index: { video: steadyIndex(300, 1001, 60), discontinuous: false },
  settings,
});
/** 12.01 s of audio, cut at 4 and 8 s. */
const audioOnly = planAsset({
  facts: sourceFacts({ audio: [audioFacts()] }),
  index: { audio: steadyIndex(563, 1024, 1), discontinuous: false },
  settings,
});
const file = (frames: number, changes = {}, start = 0) => ({
  facts: sourceFacts({ audio: [audioFacts(changes)] }),
  index: { audio: steadyIndex(frames, 1024, 1, { start }), discontinuous: false },
});

describe('planAlternateAudio', () => {
  test('cuts at the frames nearest to the cuts of the video, and copies what fits', () => {
    expect(planAlternateAudio({ ...file(2000), plan: silent })).toMatchObject({
      mode: 'copy',
      sourceOrigin: 0,
      boundaries: [0, 188, 375, 470],
    });
  });
  test('covers the whole asset with silence where the file is shorter', () => {
    expect(planAlternateAudio({ ...file(100), plan: silent })).toMatchObject({
      mode: 'encode',
      boundaries: [0, 188, 375, 470],
    });
  });
  test('has as many segments as the primary audio at another rate', () => {
    const changes = { sampleRate: 44_100, timeBase: { num: 1, den: 44_100 } };
    const plan = planAlternateAudio({ ...file(2000, changes), plan: audioOnly })!;
    expect(plan).toMatchObject({ sampleRate: 44_100, boundaries: [0, 173, 345, 518] });
    expect(audioOnly.audio!.boundaries).toHaveLength(plan.boundaries.length);
  });
  test('begins with the first sample of the file', () => {
    const late = planAlternateAudio({ ...file(2000, { timeBase: { num: 1, den: 90_000 } }, 900_000), plan: silent });
    expect(late!.sourceOrigin).toBe(900_000);
  });
  test('keeps the distance to the video of the same file', () => {
    const { facts, index } = file(2000, {}, 24_000);
    const video = steadyIndex(300, 512, 60);
    const plan = planAlternateAudio({
      facts: { ...facts, video: videoFacts() },
      index: { ...index, video },
      plan: silent,
    })!;
    expect(plan).toMatchObject({ sourceOrigin: 0, mode: 'encode' });
  });
  test('of a clip begins where the clip begins', () => {
    const plan = planAlternateAudio({ ...file(2000), plan: silent, zeroSeconds: 1.5015 })!;
    expect(plan).toMatchObject({ sourceOrigin: 72_072, mode: 'encode' });
    expect(planAlternateAudio({ ...file(2000), plan: silent, zeroSeconds: (1024 * 50) / 48_000 })!.mode).toBe('copy');
  });
  test('is nothing without audio', () => {
    const facts = sourceFacts({ video: videoFacts() });
    expect(planAlternateAudio({ facts, index: { discontinuous: false }, plan: silent })).toBeUndefined();
    const empty = { ...file(1), index: { discontinuous: false } };
    expect(planAlternateAudio({ ...empty, plan: silent })).toBeUndefined();
  });
});
