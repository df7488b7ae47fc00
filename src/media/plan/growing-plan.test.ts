import { describe, expect, test } from 'vitest';
import { audioFacts, sourceFacts, steadyIndex, videoFacts } from '../../../test/support/media/media-values.js';
import { arrivedPart } from '../source/arrived-part.js';
import type { AudioFacts, VideoFacts } from '../source/source-facts.js';
import type { StreamIndex } from '../source/source-index.js';
import { afterGrowth, growingPlan, isPrefixOf } from './growing-plan.js';
import { hasLimitedRungs } from './ladder.js';
import type { Plan } from './plan.js';
import { planAsset } from './plan-asset.js';

const FRAME_TICKS = 512;
const RATE = 30;
const SAMPLES = 1024;
const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;

const first = (index: StreamIndex, count: number): StreamIndex => ({
  ...index,
  pts: index.pts.slice(0, count),
  key: index.key.slice(0, count),
  size: index.size.slice(0, count),
  position: index.position.slice(0, count),
});

interface Streams {
  readonly video?: StreamIndex;
  readonly audio?: StreamIndex;
}
/** The plans of a file with `streams`: of all of it, and of what has arrived after `seconds`. */
const plansOf = (
  { video, audio }: Streams,
  facts: { readonly video?: Partial<VideoFacts>; readonly audio?: Partial<AudioFacts> } = {},
) => {
  const source = sourceFacts({
    ...(video && { video: videoFacts(facts.video ?? {}) }),
    audio: audio ? [audioFacts(facts.audio ?? {})] : [],
  });
  const planOf = (index: Streams): Plan =>
    planAsset({ facts: source, index: { ...index, discontinuous: false }, settings });
  const arrived = (seconds: number): Plan | undefined => {
    const part = arrivedPart(
      {
        ...(video && { video: first(video, Math.floor(seconds * RATE)) }),
        ...(audio && { audio: first(audio, Math.floor((seconds * 48_000) / SAMPLES)) }),
        discontinuous: false,
      },
      source,
    );
    return part && growingPlan(planOf(part));
  };
  return { whole: planOf({ ...(video && { video }), ...(audio && { audio }) }), arrived };
};

const seconds = 100;
const steady = steadyIndex(seconds * RATE, FRAME_TICKS, 60);
const audio = steadyIndex(Math.floor((seconds * 48_000) / SAMPLES), SAMPLES, 1, { sizeBytes: 341 });
/**
 * Key frames between one and three seconds apart, so that the nearest one to a boundary may come
 * later.
 */
const uneven: StreamIndex = {
  ...steady,
  key: steady.key.map((_, frame) => (frame % 190 === 0 || frame % 190 === 47 || frame % 190 === 110 ? 1 : 0)),
};

describe('a plan of what has arrived', () => {
  test.each<[string, Streams, Parameters<typeof plansOf>[1]]>([
    ['copied frames', { video: steady }, {}],
    ['copied frames and audio', { video: steady, audio }, {}],
    ['encoded frames', { video: steady, audio }, { video: { interlaced: true } }],
    ['encoded audio', { video: steady, audio }, { audio: { codec: 'opus' } }],
    ['uneven key frames', { video: uneven, audio }, {}],
    ['audio only', { audio }, {}],
  ])('makes segments of the complete file: %s', (_name, streams, facts) => {
    const { whole, arrived } = plansOf(streams, facts);
    let known: Plan | undefined;
    let grown = 0;
    for (let end = 1; end < seconds; end += 0.7) {
      const plan = arrived(end);
      if (!plan) continue;
      expect(plan.grows).toBe(true);
      expect(plan.durationSeconds).toBeLessThanOrEqual(end - 2);
      expect(isPrefixOf(plan, whole)).toBe(true);
      // A longer part may have fewer certain segments.
      if (known && isPrefixOf(plan, known)) continue;
      if (known) expect(isPrefixOf(known, plan)).toBe(true);
      if (known && plan.durationSeconds > known.durationSeconds) grown += 1;
      known = plan;
    }
    // With audio, chunks of eight segments.
    expect(grown).toBeGreaterThanOrEqual(streams.audio ? 1 : 15);
  });

  test('is none before a first segment is certain', () => {
    expect(plansOf({ video: steady, audio }).arrived(5)).toBeUndefined();
  });
});

describe('isPrefixOf', () => {
  const { whole, arrived } = plansOf({ video: steady, audio });
  const plan = arrived(60)!;
  test('refuses another segment before the end of what is known', () => {
    const video = whole.video!;
    const boundaries = video.boundaries.map((ticks, number) => (number === 2 ? ticks + FRAME_TICKS : ticks));
    expect(isPrefixOf(plan, { ...whole, video: { ...video, boundaries } })).toBe(false);
  });
  test('refuses fewer segments, other audio and other renditions', () => {
    expect(isPrefixOf(plan, arrived(20)!)).toBe(false);
    expect(isPrefixOf(plan, { ...whole, audio: { ...whole.audio!, mode: 'encode' } })).toBe(false);
    expect(isPrefixOf(plan, { ...whole, video: { ...whole.video!, renditions: [] } })).toBe(false);
  });
  test('refuses a segment longer than the target duration', () => {
    const video = whole.video!;
    const last = video.boundaries.length - 2;
    const boundaries = video.boundaries.filter((_, number) => number !== last && number !== last - 1);
    expect(isPrefixOf(plan, { ...whole, video: { ...video, boundaries } })).toBe(false);
  });
  test('allows for the target duration, which is kept', () => {
    expect(afterGrowth(whole).leastTargetSeconds).toBe(plan.leastTargetSeconds);
    expect(isPrefixOf(plan, afterGrowth(whole))).toBe(true);
  });
});

test('the bitrate of a copy may limit the rungs below it', () => {
  const renditionsOf = (sizeBytes: number) =>
    plansOf({ video: steadyIndex(seconds * RATE, FRAME_TICKS, 60, { sizeBytes }) }).whole.video!.renditions;
  expect(renditionsOf(2000).map(({ kind }) => kind)).toContain('copy');
  expect(hasLimitedRungs(renditionsOf(2000), 'basic')).toBe(true);
  expect(hasLimitedRungs(renditionsOf(6500), 'basic')).toBe(false);
});
