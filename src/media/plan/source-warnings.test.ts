import { expect, test } from 'vitest';
import type { AudioFacts, SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { Plan } from './plan.js';
import { describeWarnings } from './source-warnings.js';

const color = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' };
const video = { streamIndex: 0, color } as VideoFacts;
const audio = [{ streamIndex: 1 }, { streamIndex: 2 }] as unknown as readonly AudioFacts[];
const facts: SourceFacts = { formatName: 'avi', sizeBytes: 1, durationSeconds: 1, video, audio };
const plan = { version: 1, durationSeconds: 1 } as const;
const planned = { ...plan, video: {} as never, audio: {} as never };
const messages = (of: SourceFacts, planOf: Plan): string[] =>
  describeWarnings(of, planOf).map(({ message }) => message);
const EMPTY = 'It contains nothing that can be played.';

test('what is played is not told of, nor audio besides the first', () => {
  expect(messages(facts, planned)).toEqual([]);
});

test('streams without content and streams that nothing decodes are', () => {
  expect(messages(facts, { ...plan, video: {} as never })).toEqual([`The audio stream 1 was left out. ${EMPTY}`]);
  expect(messages(facts, { ...plan, audio: {} as never })).toEqual([`The video stream 0 was left out. ${EMPTY}`]);
  const unplayable = [{ type: 'audio', streamIndex: 3, codec: 'x', durationSeconds: 1, reason: 'Why.' }] as const;
  expect(messages({ ...facts, unplayable }, planned)).toEqual(['The audio stream 3 was left out. Why.']);
});

test('video besides the main stream is', () => {
  const otherVideo = [{ type: 'video', streamIndex: 4, codec: 'h264', durationSeconds: 1 }] as const;
  expect(messages({ ...facts, otherVideo }, planned)).toEqual([
    'The video stream 4 was left out. Only one video stream of a file is used.',
  ]);
});

test('a frame rate that is assumed is told of', () => {
  const assumed = { ...video, frameRate: { num: 25, den: 1 }, frameRateAssumed: true } as VideoFacts;
  expect(describeWarnings({ ...facts, video: assumed }, planned)).toMatchObject([
    { type: 'frame_rate_assumed', message: expect.stringContaining('25 frames a second are assumed') },
  ]);
});
