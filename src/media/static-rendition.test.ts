import { expect, test } from 'vitest';
import { planMp4Support, planRendition } from './static-rendition.js';

const size = (width: number, height: number) => ({ width, height });
const names = (files: ReturnType<typeof planMp4Support>) => files?.map(({ name }) => name);

test.each([
  ['1080p', size(1080, 1920), size(1080, 1920)],
  ['540p', size(1080, 1920), size(540, 960)],
  ['360p', size(640, 400), size(576, 360)],
  ['480p', size(1920, 1080), size(854, 480)],
  ['270p', size(1920, 1080), size(480, 270)],
  ['1440p', size(1920, 1080), undefined],
  ['2160p', size(1920, 1080), undefined],
  // As wide as the box, though lower.
  ['1080p', size(1920, 800), size(1920, 800)],
  ['1080p', size(1918, 800), undefined],
  ['highest', size(1918, 800), size(1918, 800)],
] as const)('%s of %o', (resolution, picture, expected) => {
  expect(planRendition(resolution, { picture, hasAudio: false })?.size).toEqual(expected);
});

test('sound alone and pictures need their stream', () => {
  expect(planRendition('audio-only', { picture: size(640, 360), hasAudio: true })).toEqual({
    name: 'audio.m4a',
    ext: 'm4a',
  });
  expect(planRendition('audio-only', { picture: size(640, 360), hasAudio: false })).toBeUndefined();
  expect(planRendition('highest', { hasAudio: true })).toBeUndefined();
  expect(planRendition('270p', { hasAudio: true })).toBeUndefined();
});

test('mp4_support', () => {
  const hd = { picture: size(1920, 1080), hasAudio: true };
  const silent = { picture: size(1920, 1080), hasAudio: false };
  const sound = { hasAudio: true };
  expect(names(planMp4Support('none', hd))).toEqual([]);
  expect(names(planMp4Support('standard', hd))).toEqual(['low.mp4', 'medium.mp4', 'high.mp4']);
  expect(names(planMp4Support('standard', { picture: size(960, 540), hasAudio: true }))).toEqual([
    'low.mp4',
    'medium.mp4',
  ]);
  expect(names(planMp4Support('standard', { picture: size(360, 640), hasAudio: true }))).toEqual(['low.mp4']);
  expect(names(planMp4Support('standard', sound))).toEqual(['audio.m4a']);
  expect(planMp4Support('capped-1080p', { picture: size(3840, 2160), hasAudio: true })).toEqual([
    { name: 'capped-1080p.mp4', ext: 'mp4', size: size(1920, 1080) },
  ]);
  expect(names(planMp4Support('capped-1080p', sound))).toEqual(['audio.m4a']);
  expect(planMp4Support('audio-only', silent)).toBeUndefined();
  expect(names(planMp4Support('audio-only', hd))).toEqual(['audio.m4a']);
  expect(names(planMp4Support('audio-only,capped-1080p', hd))).toEqual(['capped-1080p.mp4', 'audio.m4a']);
  expect(names(planMp4Support('audio-only,capped-1080p', silent))).toEqual(['capped-1080p.mp4']);
  expect(names(planMp4Support('audio-only,capped-1080p', sound))).toEqual(['audio.m4a']);
});
