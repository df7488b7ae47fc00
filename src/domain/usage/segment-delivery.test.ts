import { expect, it } from 'vitest';
import type { AudioPlan, Plan } from '../../media/plan/plan.js';
import { segmentDelivery } from './segment-delivery.js';

const rendition = (name: string, width: number, height: number) => ({ name, width, height });
const video = {
  timescale: 1000,
  boundaries: [0, 4000, 8040, 9000],
  renditions: [
    rendition('240p', 426, 240),
    rendition('720p', 1280, 720),
    rendition('tall', 722, 1280),
    rendition('1080p', 1920, 1080),
    rendition('1440p', 2560, 1440),
    rendition('2160p', 3840, 2160),
  ],
};
const audio = { sampleRate: 48_000, boundaries: [0, 188, 375] };
const withVideo = { version: 1, durationSeconds: 9, video, audio } as unknown as Plan;
const audioOnly = { version: 1, durationSeconds: 8, audio } as unknown as Plan;

it.each([
  ['240p', '0.m4s', { tier: '720p', seconds: 4, startSeconds: 0 }],
  ['720p', '1.m4s', { tier: '720p', seconds: 4.04, startSeconds: 4 }],
  ['tall', '2.m4s', { tier: '1080p', seconds: 0.96, startSeconds: 8.04 }],
  ['1080p', '0.m4s', { tier: '1080p', seconds: 4, startSeconds: 0 }],
  ['1440p', '0.m4s', { tier: '1440p', seconds: 4, startSeconds: 0 }],
  ['2160p', '0.m4s', { tier: '2160p', seconds: 4, startSeconds: 0 }],
  ['240p', 'init.mp4', undefined],
  ['240p', '3.m4s', undefined],
  ['other', '0.m4s', undefined],
  ['audio', '0.m4s', { tier: 'audio-only', seconds: 0 }],
])('%s/%s of a video counts as %j', (name, file, expected) => {
  expect(segmentDelivery(withVideo, name, file)).toEqual(expected);
});

it('audio alone counts by its own length', () => {
  expect(segmentDelivery(audioOnly, 'audio', '0.m4s')).toEqual({
    tier: 'audio-only',
    seconds: (188 * 1024) / 48_000,
    startSeconds: 0,
  });
  expect(segmentDelivery(audioOnly, 'audio', '1.m4s')).toEqual({
    tier: 'audio-only',
    seconds: (187 * 1024) / 48_000,
    startSeconds: (188 * 1024) / 48_000,
  });
  expect(segmentDelivery(audioOnly, 'audio', 'init.mp4')).toBeUndefined();
});

it('counts another language of audio alone like the first', () => {
  const further = { audio: new Map([['audio-A', { audio: { ...audio } as unknown as AudioPlan, sourceKey: 'k' }]]) };
  expect(segmentDelivery(audioOnly, 'audio-A', '1.m4s', further)).toEqual({
    tier: 'audio-only',
    seconds: (187 * 1024) / 48_000,
    startSeconds: (188 * 1024) / 48_000,
  });
  expect(segmentDelivery(withVideo, 'audio-A', '1.m4s', further)).toEqual({ tier: 'audio-only', seconds: 0 });
  expect(segmentDelivery(audioOnly, 'audio-A', '1.m4s')).toBeUndefined();
});
