import { expect, test } from 'vitest';
import { planLadder } from './ladder.js';
import type { VideoPlan } from './plan.js';
import { chooseVideoRendition, planMp4Support, planRendition } from './static-rendition.js';

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
  // As wide as the box, but less high.
  ['1080p', size(1920, 800), size(1920, 800)],
  ['1080p', size(1918, 800), undefined],
  ['highest', size(1918, 800), size(1918, 800)],
] as const)('%s of %o', (resolution, frame, expected) => {
  expect(planRendition(resolution, { frame, hasAudio: false })?.size).toEqual(expected);
});

test('audio and video need their stream', () => {
  expect(planRendition('audio-only', { frame: size(640, 360), hasAudio: true })).toEqual({
    name: 'audio.m4a',
    ext: 'm4a',
  });
  expect(planRendition('audio-only', { frame: size(640, 360), hasAudio: false })).toBeUndefined();
  expect(planRendition('highest', { hasAudio: true })).toBeUndefined();
  expect(planRendition('270p', { hasAudio: true })).toBeUndefined();
});

test('mp4_support', () => {
  const hd = { frame: size(1920, 1080), hasAudio: true };
  const silent = { frame: size(1920, 1080), hasAudio: false };
  const audio = { hasAudio: true };
  expect(names(planMp4Support('none', hd))).toEqual([]);
  expect(names(planMp4Support('standard', hd))).toEqual(['low.mp4', 'medium.mp4', 'high.mp4']);
  expect(names(planMp4Support('standard', { frame: size(960, 540), hasAudio: true }))).toEqual([
    'low.mp4',
    'medium.mp4',
  ]);
  expect(names(planMp4Support('standard', { frame: size(360, 640), hasAudio: true }))).toEqual(['low.mp4']);
  expect(names(planMp4Support('standard', audio))).toEqual(['audio.m4a']);
  expect(planMp4Support('capped-1080p', { frame: size(3840, 2160), hasAudio: true })).toEqual([
    { name: 'capped-1080p.mp4', ext: 'mp4', size: size(1920, 1080) },
  ]);
  expect(names(planMp4Support('capped-1080p', audio))).toEqual(['audio.m4a']);
  expect(planMp4Support('audio-only', silent)).toBeUndefined();
  expect(names(planMp4Support('audio-only', hd))).toEqual(['audio.m4a']);
  expect(names(planMp4Support('audio-only,capped-1080p', hd))).toEqual(['capped-1080p.mp4', 'audio.m4a']);
  expect(names(planMp4Support('audio-only,capped-1080p', silent))).toEqual(['capped-1080p.mp4']);
  expect(names(planMp4Support('audio-only,capped-1080p', audio))).toEqual(['audio.m4a']);
});

const ladderOf = (frame: { width: number; height: number }, top?: object): VideoPlan => {
  const frameRate = { num: 30, den: 1 };
  const rungs = planLadder({ frame, frameRate, quality: 'basic', maxResolutionTier: '1080p' });
  const renditions = top ? [...rungs.slice(0, -1), { ...rungs.at(-1)!, ...top }] : rungs;
  return { frameRate, renditions } as unknown as VideoPlan;
};

test('a file of the size of a rung is made of its segments, whichever way its size was rounded', () => {
  const hd = ladderOf(size(1920, 1080));
  expect(chooseVideoRendition(hd, size(1280, 720), 'basic')).toBe(hd.renditions.find(({ name }) => name === '720p'));
  expect(chooseVideoRendition(hd, size(852, 480), 'basic').name).toBe('480p');
  const copy = { kind: 'copy', encoder: undefined, bandwidth: 2_000_000 } as const;
  expect(chooseVideoRendition(ladderOf(size(1920, 1080), copy), size(1920, 1080), 'basic').kind).toBe('copy');
});

test('a size beside the ladder lies between its neighbours in rate too', () => {
  const hd = ladderOf(size(1920, 1080));
  const rung = chooseVideoRendition(hd, size(960, 540), 'basic');
  const bandwidthOf = (name: string) => hd.renditions.find((rendition) => rendition.name === name)!.bandwidth;
  expect(rung).toMatchObject({ name: '960x540', kind: 'encode', frameStep: 1, codecs: 'avc1.64001f' });
  expect(rung.encoder).toMatchObject({ preset: 'veryfast', crf: 23, level: 31 });
  expect(rung.bandwidth).toBeGreaterThan(bandwidthOf('480p'));
  expect(rung.bandwidth).toBeLessThan(bandwidthOf('720p'));
  // The only neighbor is a copy with a low bit rate.
  const small = {
    renditions: [{ width: 640, height: 400, frameStep: 1, bandwidth: 200_000 }],
    frameRate: hd.frameRate,
  };
  const { bandwidth, encoder } = chooseVideoRendition(small as unknown as VideoPlan, size(576, 360), 'plus');
  expect(bandwidth).toBe(162_000);
  expect(encoder).toMatchObject({ crf: 21, maxRate: 147_272 });
});
