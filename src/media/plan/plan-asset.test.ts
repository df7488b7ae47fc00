import { describe, expect, test } from 'vitest';
import {
  audioFacts,
  sourceFacts,
  steadyIndex,
  streamIndex,
  videoFacts,
} from '../../../test/support/media/media-values.js';
import type { AudioFacts, SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { SourceIndex } from '../source/source-index.js';
import { type AssetSettings, draftPlan, finishPlan, type Measurements, planAsset } from './plan-asset.js';

const SETTINGS: AssetSettings = { quality: 'plus', maxResolutionTier: '1080p', isTest: false };
interface Source {
  readonly video?: Partial<VideoFacts>;
  readonly audio?: Partial<AudioFacts>;
  readonly facts?: Partial<SourceFacts>;
  readonly index: Omit<SourceIndex, 'discontinuous'>;
}
const draft = ({ video, audio, facts, index }: Source, settings: Partial<AssetSettings> = {}) =>
  draftPlan({
    facts: sourceFacts({
      ...(video && { video: videoFacts(video) }),
      audio: audio ? [audioFacts(audio)] : [],
      ...facts,
    }),
    index: { ...index, discontinuous: false },
    settings: { ...SETTINGS, ...settings },
  });
const plan = (...source: Parameters<typeof draft>) => draft(...source).plan;
const finish = (source: Source, measured: Measurements) => finishPlan(draft(source), measured);
/** 10 s at 30 a second, key frames every 2 s; 10.0053 s of AAC. */
const videoIndex = steadyIndex(300, 512, 60);
const audioIndex = steadyIndex(469, 1024, 1, { sizeBytes: 341 });

describe('planAsset', () => {
  test('copies a source that fits', () => {
    const { video, audio, durationSeconds } = plan({
      video: {},
      audio: {},
      index: { video: videoIndex, audio: audioIndex },
    });
    // 469 x 1024 / 48000 s = 10.00533 s = 153,682 ticks of 15,360
    expect(durationSeconds).toBe(153_682 / 15_360);
    expect(video).toMatchObject({
      access: 'source',
      timescale: 15_360,
      originTicks: 0,
      boundaries: [0, 30_720, 61_440, 122_880, 153_682],
      frameCounts: [60, 60, 120, 60],
      lastFrameTicks: 299 * 512,
      frameRate: { num: 30, den: 1 },
      startRendition: '360p',
      copyDecision: 'copied: the source fits the rung',
    });
    expect(video?.renditions.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      '270p encode',
      '360p encode',
      '480p encode',
      '720p copy',
    ]);
    // 60 frames of 1,000 bytes and their boxes in 2 s; 300 over 10.0053 s a little less
    expect(video?.renditions.at(-1)).toMatchObject({
      width: 1280,
      height: 720,
      codecs: 'avc1.64001f',
      bandwidth: 245_296,
      averageBandwidth: 245_066,
    });
    expect(video?.seekPoints).toBeUndefined();
    expect(audio).toMatchObject({ mode: 'copy', boundaries: [0, 94, 188, 375, 469] });
  });

  test.each<[string, Partial<VideoFacts>, Partial<AssetSettings>, string]>([
    ['another codec', { codec: 'vp9' }, {}, 'the codec is vp9'],
    ['High 10', { profile: 110 }, {}, 'H.264 profile 110'],
    ['level 5.2', { level: 52 }, {}, 'H.264 level 52'],
    ['4:2:2', { pixelFormat: 'yuv422p' }, {}, 'the pixel format is yuv422p'],
    ['interlaced', { interlaced: true }, {}, 'interlaced'],
    ['no avcC', { avcc: '' }, {}, 'the decoder configuration is missing or changes'],
    ['oblong pixels', { sampleAspect: { num: 4, den: 3 } }, {}, 'pixels are not square'],
    ['rotated', { rotation: 180 }, {}, 'the frames have to be rotated'],
    ['mirrored', { flipHorizontal: true }, {}, 'the frames have to be rotated'],
    [
      'HDR',
      { color: { primaries: 'bt2020', transfer: 'arib-std-b67', matrix: 'bt2020nc', range: 'tv' } },
      {},
      'the frame has to be tone-mapped',
    ],
    ['a test asset', {}, { isTest: true }, 'the frame gets the test mark'],
    ['above the tier', { width: 2560, height: 1440 }, {}, 'the frame has to be scaled'],
    ['odd size', { width: 1279 }, {}, 'the frame has to be scaled'],
    ['a complex edit list', { simpleEditList: false }, {}, 'the edit list is not simple'],
  ])('encodes %s', (_, video, settings, reason) => {
    const planned = plan({ video, index: { video: videoIndex } }, settings).video;
    expect(planned?.copyDecision).toBe(`encoded: ${reason}`);
    expect(planned?.renditions.every(({ kind }) => kind === 'encode')).toBe(true);
  });

  test.each([
    ['open GOPs', streamIndex({ pts: [0, 512, 2048, 1024, 1536], keys: [0, 2], lastDuration: 512 }), {}, 'open GOPs'],
    ['120 a second', steadyIndex(1200, 128, 240), {}, 'more than 60 frames a second'],
    ['10 s GOPs', steadyIndex(600, 512, 300), {}, 'key frames do not allow segments of 1 to 8 s'],
    [
      'a high peak in basic',
      steadyIndex(300, 512, 60, { sizeBytes: 8000 }),
      { quality: 'basic' as const },
      'the busiest segment has 1925296 bit/s, the cap is 1800000',
    ],
    [
      'a higher peak',
      steadyIndex(300, 512, 60, { sizeBytes: 16_000 }),
      {},
      'the busiest segment has 3845296 bit/s, the cap is 3600000',
    ],
    ['frames before the edit', steadyIndex(300, 512, 60, { start: -512 }), {}, 'not every frame is shown'],
  ])('encodes %s', (_, index, settings, reason) => {
    expect(plan({ video: {}, index: { video: index } }, settings).video?.copyDecision).toBe(`encoded: ${reason}`);
  });

  test('fits the encoded rungs to the frames and judges a copy by the whole rate of its rung', () => {
    // 720p in plus: 2.4 Mb/s, 3.6 Mb/s for a copy.
    const source = { video: {}, index: { video: steadyIndex(300, 512, 60, { sizeBytes: 10_000 }) } };
    const rates = (planned: ReturnType<typeof plan>) =>
      planned.video?.renditions.map(({ kind, encoder }) => encoder?.maxRate ?? kind);
    expect(rates(plan(source))).toEqual([400_000, 700_000, 1_200_000, 'copy']);
    expect(rates(finish(source, { bitrateScale: 0.5 }))).toEqual([200_000, 350_000, 600_000, 'copy']);
    const hard = { video: {}, index: { video: steadyIndex(300, 512, 60, { sizeBytes: 20_000 }) } };
    expect(rates(finish(hard, { bitrateScale: 0.5 }))).toEqual([200_000, 350_000, 600_000, 1_200_000]);
    expect(finish(hard, { bitrateScale: 0.5 }).video?.renditions.at(-1)?.bandwidth).toBe(1_320_000);
  });
  test('scales the rates of the table, not what rungs below a copy may promise', () => {
    const small = { video: {}, index: { video: steadyIndex(300, 512, 60, { sizeBytes: 3000 }) } };
    const rates = ({ video }: ReturnType<typeof plan>) => video?.renditions.map(({ encoder }) => encoder?.maxRate);
    const [lowest, middle, highest] = rates(plan(small))!;
    expect(highest).toBeLessThan(1_200_000);
    expect(rates(finish(small, { bitrateScale: 0.5 }))).toEqual([
      200_000,
      350_000,
      Math.min(highest!, 600_000),
      undefined,
    ]);
    expect(rates(finish(small, { bitrateScale: 1 }))).toEqual([lowest, middle, highest, undefined]);
  });
  test('a gain encodes audio that could be copied, and nothing else changes', () => {
    const file = {
      video: {},
      audio: {},
      index: { video: steadyIndex(300, 512, 60, { sizeBytes: 10_000 }), audio: steadyIndex(469, 1024, 1) },
    };
    const { audio: copied, ...draftRest } = plan(file);
    const { audio, ...rest } = finish(file, { gain: { gainDb: -3 } });
    expect([copied?.mode, audio?.mode, audio?.gainDb]).toEqual(['copy', 'encode', -3]);
    expect(rest).toEqual(draftRest);
    const { video: _video, ...alone } = file;
    const long = finish({ ...alone, index: { audio: file.index.audio } }, { gain: { gainDb: -3 } });
    expect(long.durationSeconds).toBe((long.audio!.boundaries.at(-1)! * 1024) / long.audio!.sampleRate);
  });
  test('zero is the earliest presented sample of any stream', () => {
    // Transport stream: audio from 1.4 s, video from 1.48 s on.
    const timeBase = { num: 1, den: 90_000 };
    const { video, audio } = plan({
      video: { timeBase },
      audio: { timeBase },
      facts: { formatName: 'mpegts' },
      index: {
        video: steadyIndex(300, 3000, 60, { start: 133_200 }),
        audio: steadyIndex(469, 1920, 1, { start: 126_000 }),
      },
    });
    expect(video).toMatchObject({ originTicks: 126_000, lastFrameTicks: 7200 + 299 * 3000 });
    expect(video?.frameCounts).toBeUndefined();
    expect(audio).toMatchObject({ sourceOrigin: 126_000, mode: 'copy' });
    // The first frame is displayed from 0; key frames are at 2.08, 4.08, 6.08, 8.08 s.
    expect(video?.boundaries).toEqual([0, 7200 + 120 * 3000, 7200 + 240 * 3000, 7200 + 300 * 3000]);
    expect(video?.seekPoints).toEqual([
      { position: 0, pts: 133_200 },
      { position: 120_000, pts: 133_200 + 120 * 3000 },
      { position: 240_000, pts: 133_200 + 240 * 3000 },
    ]);
  });

  test('a transport stream counts through zero when its clock wraps', () => {
    const timeBase = { num: 1, den: 90_000 };
    const { video, audio } = plan({
      video: { timeBase },
      audio: { timeBase },
      facts: { formatName: 'mpegts' },
      index: {
        video: steadyIndex(300, 3000, 60, { start: -90_000 }),
        audio: steadyIndex(475, 1920, 1, { start: -99_600 }),
      },
    });
    expect(video).toMatchObject({ originTicks: -99_600 });
    expect(audio).toMatchObject({ sourceOrigin: -99_600, mode: 'copy' });
  });

  test('variable rates are averaged from the frames, whatever the container declares', () => {
    // 151 frames, 20 and 60 ms apart: 150 in 6 s are 25 a second
    const pts = Array.from({ length: 151 }, (_, i) => i * 40 - (i % 2) * 20);
    const index = streamIndex({ pts, lastDuration: 40 });
    const facts = { formatName: 'matroska,webm' };
    const video = { timeBase: { num: 1, den: 1000 }, frameRate: { num: 60, den: 1 }, codec: 'vp9' };
    expect(plan({ video, facts, index: { video: index } }).video?.frameRate).toEqual({ num: 25, den: 1 });
    expect(plan({ video, facts: { formatName: 'mpegts' }, index: { video: index } }).video?.frameRate).toEqual({
      num: 60,
      den: 1,
    });
  });

  test('priming audio does not move zero', () => {
    const audio = steadyIndex(472, 1024, 1, { start: -2048 });
    expect(plan({ video: {}, audio: {}, index: { video: videoIndex, audio } })).toMatchObject({
      video: { originTicks: 0 },
      audio: { sourceOrigin: 0 },
    });
  });

  test('holds the last frame under longer audio', () => {
    const { video, audio, durationSeconds } = plan({
      video: {},
      audio: {},
      index: { video: steadyIndex(60, 512, 60), audio: steadyIndex(938, 1024, 1) },
    });
    expect(durationSeconds).toBeCloseTo(20.0107, 3);
    expect(video).toMatchObject({ lastFrameTicks: 59 * 512, copyDecision: 'encoded: the last frame is held' });
    expect(video?.frameCounts).toEqual([30, 30, 0, 0, 0, 0]);
    expect(audio?.boundaries).toHaveLength(video!.boundaries.length);
    expect(audio?.boundaries.at(-1)).toBe(938);
  });

  test('encodes silence under a longer video', () => {
    const planned = plan({ video: {}, audio: {}, index: { video: videoIndex, audio: steadyIndex(100, 1024, 1) } });
    expect(planned.durationSeconds).toBe(10);
    expect(planned.audio).toMatchObject({ mode: 'encode', boundaries: [0, 94, 188, 375, 469] });
  });

  test('cuts a test asset at 10 s and marks it', () => {
    const { video, audio, durationSeconds } = plan(
      { video: {}, audio: {}, index: { video: steadyIndex(900, 512, 60), audio: steadyIndex(1400, 1024, 1) } },
      { isTest: true },
    );
    expect(durationSeconds).toBe(10);
    expect(video).toMatchObject({ boundaries: [0, 15_360, 61_440, 122_880, 153_600], lastFrameTicks: 299 * 512 });
    expect(video?.frameCounts).toEqual([30, 90, 120, 60]);
    expect(video?.filters.testMark).toBe(true);
    expect(audio?.boundaries.at(-1)).toBe(469);
  });

  test('takes frames from a mezzanine through a neutral chain', () => {
    const { video, audio } = planAsset({
      facts: sourceFacts({
        formatName: 'mpegts',
        video: videoFacts({ rotation: 90, interlaced: true, timeBase: { num: 1, den: 90_000 } }),
        audio: [audioFacts()],
      }),
      index: { audio: audioIndex, discontinuous: true },
      settings: SETTINGS,
      mezzanine: { index: videoIndex, width: 720, height: 1280, timeBase: { num: 1, den: 15_360 } },
    });
    expect(video).toMatchObject({
      access: 'mezzanine',
      formatName: 'mov,mp4,m4a,3gp,3g2,mj2',
      streamIndex: 0,
      timescale: 15_360,
      frameCounts: [30, 90, 120, 60],
      copyDecision: 'encoded: the frames come from a mezzanine',
      filters: { deinterlace: false, rotation: 0, flipHorizontal: false, testMark: false },
    });
    expect(video?.seekPoints).toBeUndefined();
    expect(video?.renditions.at(-1)).toMatchObject({ name: '720p', kind: 'encode', width: 720, height: 1280 });
    expect(audio?.formatName).toBe('mpegts');
  });

  test('plans audio alone, video alone and nothing', () => {
    const alone = plan({ audio: {}, index: { audio: audioIndex } });
    expect(alone).toMatchObject({ durationSeconds: (469 * 1024) / 48_000, audio: { boundaries: [0, 188, 375, 469] } });
    expect(alone.video).toBeUndefined();
    expect(plan({ video: {}, index: { video: videoIndex } }).audio).toBeUndefined();
    expect(plan({ audio: {}, index: {} })).toEqual({ version: 1, durationSeconds: 0 });
  });

  test('counts in a time base that is no fraction of a second', () => {
    const timeBase = { num: 1001, den: 30_000 };
    const { video } = plan({
      video: { timeBase, codec: 'mpeg4' },
      facts: { formatName: 'avi' },
      index: { video: steadyIndex(300, 1, 12, { start: 2 }) },
    });
    expect(video).toMatchObject({ originTicks: 2002, timescale: 30_000, frameRate: { num: 30_000, den: 1001 } });
    expect(video?.boundaries).toEqual([0, 30_030, 120_120, 240_240, 300_300]);
  });

  test('is the same every time and made of plain JSON', () => {
    const source = { video: {}, audio: {}, index: { video: videoIndex, audio: audioIndex } };
    expect(JSON.parse(JSON.stringify(plan(source)))).toEqual(plan(source));
  });
});
