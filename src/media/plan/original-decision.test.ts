import { describe, expect, test } from 'vitest';
import { sourceFacts, steadyIndex, streamIndex, videoFacts } from '../../../test/support/media/media-values.js';
import { multivariantPlaylist } from '../playlist/hls.js';
import { parsePlaybackModifiers } from '../playlist/playback-modifiers.js';
import type { VideoFacts } from '../source/source-facts.js';
import { withAv1 } from './av1-ladder.js';
import { findSegment, withoutOriginal } from './find-segment.js';
import { type AssetSettings, type PlanInput, planAsset } from './plan-asset.js';

/** Main, level 4, one parameter set of each kind. */
const HVCC = Buffer.from(
  '01016000000090000000000078f000fcfdf8f800000f03a0000100014aa1000100014ba2000100014c',
  'hex',
).toString('base64');
const hevc = { codec: 'hevc', profile: 1, level: 120, avcc: undefined, decoderConfig: HVCC } as unknown as VideoFacts;
const av1 = { codec: 'av1', profile: 0, decoderConfig: 'gQQMAA==' } as const;
const index = steadyIndex(300, 512, 60);

const plan = (
  video: Partial<VideoFacts>,
  settings: Partial<AssetSettings> = {},
  changes: Partial<PlanInput> & { formatName?: string; frames?: typeof index } = {},
) => {
  const { formatName = 'mov,mp4,m4a,3gp,3g2,mj2', frames = index, ...rest } = changes;
  return planAsset({
    facts: sourceFacts({ formatName, video: videoFacts({ ...hevc, ...video }) }),
    index: { video: frames, discontinuous: false },
    settings: { quality: 'plus', maxResolutionTier: '1080p', isTest: false, ...settings },
    ...rest,
  });
};

describe('planAsset copies beside the ladder', () => {
  test.each([
    ['HEVC', {}, '720p-hevc', 'hvc1.1.6.L120.90', 'hevc'],
    ['AV1', av1, '720p-av1', 'av01.0.04M.08', 'av1'],
  ] as const)('%s', (_, video, name, codecs, codec) => {
    const planned = plan(video).video!;
    expect(planned.copyDecision).toBe(`encoded: the codec is ${codec}, copied beside the ladder`);
    expect(planned.original).toMatchObject({
      name,
      codecs,
      kind: 'copy',
      width: 1280,
      height: 720,
      bandwidth: 245_296,
    });
    // At key frames, for every rung.
    expect(planned.boundaries).toEqual([0, 30_720, 61_440, 122_880, 153_600]);
    expect(planned.renditions.every(({ kind }) => kind === 'encode')).toBe(true);
    expect(planned.renditions.at(-1)!.name).toBe('720p');
    expect(planned.startRendition).not.toBe(name);
  });

  test.each([
    ['a codec of another container', {}, {}, { formatName: 'mpegts' }, 'the container is mpegts'],
    ['4:2:2', { pixelFormat: 'yuv422p10le' }, {}, {}, 'the pixel format is yuv422p10le'],
    ['no record', { decoderConfig: undefined }, {}, {}, 'decoding cannot start at its key frames'],
    ['another profile', { profile: 4 }, {}, {}, 'HEVC profile 4'],
    ['another record', { decoderConfig: 'AAAA' }, {}, {}, 'the stream has not exactly one sequence parameter set'],
    ['rotated', { rotation: 90 as const, width: 720, height: 1280 }, {}, {}, 'the frames have to be rotated'],
    ['interlaced', { interlaced: true }, {}, {}, 'interlaced'],
    ['a test asset', {}, { isTest: true }, {}, 'the frame gets the test mark'],
    ['above the tier', { width: 2560, height: 1440 }, {}, {}, 'the frame has to be scaled'],
    [
      'key frames too far',
      {},
      {},
      { frames: steadyIndex(600, 512, 300) },
      'key frames do not allow segments of 1 to 8 s',
    ],
    [
      'open GOPs',
      {},
      {},
      { frames: streamIndex({ pts: [0, 512, 2048, 1024, 1536], keys: [0, 2], lastDuration: 512 }) },
      'open GOPs',
    ],
    [
      'a high peak in basic',
      {},
      { quality: 'basic' as const },
      { frames: steadyIndex(300, 512, 60, { sizeBytes: 8000 }) },
      'the busiest segment has 1925296 bit/s, the cap is 1800000',
    ],
    [
      'more than four times the rung',
      {},
      {},
      { frames: steadyIndex(300, 512, 60, { sizeBytes: 41_000 }) },
      'the busiest segment has 9845296 bit/s, the cap is 9600000',
    ],
  ])('not %s', (_, video, settings, changes, reason) => {
    const planned = plan(video as Partial<VideoFacts>, settings, changes).video!;
    expect(planned.original).toBeUndefined();
    expect(planned.copyDecision).toContain(`, not copied: ${reason}`);
  });
});

describe('the playlist', () => {
  const variants = (query: Record<string, string> = {}, video: Partial<VideoFacts> = {}, listsAv1 = false) => {
    const planned = withAv1(plan(video));
    const modifiers = parsePlaybackModifiers(query, planned.durationSeconds);
    if ('invalid' in modifiers) throw new Error(modifiers.invalid);
    const uri = (child: object) => ('rendition' in child ? String(child.rendition) : '');
    return multivariantPlaylist({
      ...{ plan: planned, audioTracks: [], textTracks: [], modifiers, listsAv1, uri },
    }).split('\n');
  };
  const names = (...of: Parameters<typeof variants>) => variants(...of).filter((line) => /^(av1-)?\d+p/.test(line));

  test('has HEVC only when it is asked for', () => {
    expect(names({})).toEqual(['360p', '270p', '480p', '720p']);
    expect(names({ codecs: 'hevc' })).toEqual(['720p-hevc']);
    expect(variants({ codecs: 'hevc' }).at(-3)).toBe(
      '#EXT-X-STREAM-INF:BANDWIDTH=245296,AVERAGE-BANDWIDTH=245197,RESOLUTION=1280x720,FRAME-RATE=30.000,CODECS="hvc1.1.6.L120.90",CLOSED-CAPTIONS=NONE',
    );
    expect(names({ codecs: 'hevc', max_resolution: '480p' })).toEqual(['360p', '270p', '480p']);
  });
  test('has AV1 of the source behind the rung of its size, when there are rungs', () => {
    const ladder = ['360p', '270p', '480p', '720p'];
    expect(names({}, av1)).toEqual(ladder);
    expect(names({}, av1, true)).toEqual([...ladder, ...ladder.map((name) => `av1-${name}`), '720p-av1']);
    expect(names({ rendition_order: 'desc', codecs: 'av1' }, av1, true).slice(0, 2)).toEqual(['av1-720p', '720p-av1']);
    expect(names({ max_resolution: '480p' }, av1, true)).not.toContain('720p-av1');
  });
  test('tells that HDR is HDR, and keeps it apart from what is not', () => {
    const color = { primaries: 'bt2020', transfer: 'arib-std-b67', matrix: 'bt2020nc', range: 'tv' };
    const hdr = { color, pixelFormat: 'yuv420p10le', profile: 2, bitDepth: 10 };
    const ranges = (lines: string[]) => lines.filter((line) => line.includes('VIDEO-RANGE'));
    expect(ranges(variants({ codecs: 'hevc' }, hdr))).toEqual([expect.stringContaining('VIDEO-RANGE=HLG')]);
    expect(ranges(variants({}, { ...hdr, ...av1 }, true))).toEqual([]);
  });
});

test('where everything is encrypted there is no original', () => {
  const whole = plan({});
  const without = withoutOriginal(whole);
  expect(findSegment({ plan: whole }, '720p-hevc', '0.m4s')).toBeDefined();
  expect(findSegment({ plan: without }, '720p-hevc', '0.m4s')).toBeUndefined();
  expect(findSegment({ plan: without }, '720p', '0.m4s')).toEqual({
    ...findSegment({ plan: whole }, '720p', '0.m4s'),
    video: without.video,
  });
  expect(withoutOriginal(without)).toBe(without);
});
