import { expect, test } from 'vitest';
import { audioChunkRange } from '../media/plan/audio-chunks.js';
import type { AudioPlan } from '../media/plan/plan.js';
import { audioChunkJob, tighterEncoder } from './segment-jobs.js';

const audio: AudioPlan = {
  streamIndex: 1,
  formatName: 'mp3',
  mode: 'encode',
  sourceTimeBase: { num: 1, den: 48_000 },
  sourceSampleRate: 48_000,
  sourceOrigin: 0,
  sampleRate: 48_000,
  channels: 2,
  boundaries: Array.from({ length: 12 }, (_, index) => index * 188),
  chunkSegments: 8,
  bitRate: 128_000,
  codecs: 'mp4a.40.2',
  bandwidth: 140_000,
  audioSpecificConfig: 'EZA=',
};

test.each([
  [0, { first: 0, end: 8 }],
  [7, { first: 0, end: 8 }],
  [8, { first: 8, end: 11 }],
  [10, { first: 8, end: 11 }],
])('segment %i is made with its chunk', (number, range) => {
  expect(audioChunkRange(audio, number)).toEqual(range);
});

test.each([
  [1, { first: 0, end: 2 }],
  [2, { first: 2, end: 10 }],
  [9, { first: 2, end: 10 }],
  [10, { first: 10, end: 11 }],
])('segment %i is made with its chunk when the first one is short', (number, range) => {
  expect(audioChunkRange({ ...audio, firstChunkSegments: 2 }, number)).toEqual(range);
});

test('a chunk job carries the boundaries of its segments and the end of the track', () => {
  const job = audioChunkJob(audio, 8, { path: '/source' }, ['/a', '/b', '/c']);
  expect(job.boundaries).toEqual([1504, 1692, 1880, 2068]);
  expect(job.endFrame).toBe(2068);
  expect(job.firstSegment).toBe(8);
  expect(job.audio).not.toHaveProperty('boundaries');
});

test('another try is tighter, and coarser from the second on', () => {
  const encoder = { preset: 'veryfast', crf: 23, maxRate: 1_000_000, level: 31 };
  expect(tighterEncoder(encoder, 1.5, 1)).toEqual({ ...encoder, maxRate: 600_000 });
  expect(tighterEncoder(encoder, 1.5, 2)).toEqual({ ...encoder, maxRate: 600_000, crf: 29 });
  expect(tighterEncoder({ ...encoder, crf: 38 }, 2, 3).crf).toBe(40);
});
