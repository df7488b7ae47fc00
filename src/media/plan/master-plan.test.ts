import { describe, expect, test } from 'vitest';
import type { SourceFacts } from '../source/source-facts.js';
import { MASTER_AUDIO, MASTER_VIDEO, masterRenditions, planEncodedMaster, planMaster } from './master-plan.js';
import type { AudioPlan, Plan, VideoFilters, VideoPlan } from './plan.js';

const MOV = 'mov,mp4,m4a,3gp,3g2,mj2';
const filters: VideoFilters = {
  deinterlace: false,
  color: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' },
  rotation: 0,
  flipHorizontal: false,
  testMark: false,
};
const overlay = {
  ...{ assetId: 'a', input: 1, left: 0, top: 0, width: 1, height: 1, opacity: 1 },
  image: { width: 1, height: 1 },
};
const video = (change: Partial<VideoPlan> = {}): VideoPlan => ({
  access: 'source',
  formatName: MOV,
  streamIndex: 0,
  timeBase: { num: 1, den: 90_000 },
  timescale: 90_000,
  originTicks: 126_000,
  boundaries: [0, 360_000],
  lastFrameTicks: 350_000,
  frameRate: { num: 30, den: 1 },
  filters,
  renditions: [
    {
      ...{ name: '1080p', kind: 'copy', width: 1920, height: 1080, frameStep: 1 },
      ...{ codecs: 'avc1.640028', bandwidth: 5_000_000 },
    },
  ],
  startRendition: '1080p',
  copyDecision: '',
  ...change,
});
const audio = (change: Partial<AudioPlan> = {}): AudioPlan => ({
  ...{ streamIndex: 1, formatName: MOV, mode: 'encode', sourceTimeBase: { num: 1, den: 48_000 } },
  ...{ sourceSampleRate: 48_000, sourceOrigin: 67_200, sampleRate: 48_000, channels: 2, boundaries: [0, 188] },
  ...{ chunkSegments: 8, bitRate: 128_000, codecs: 'mp4a.40.2', bandwidth: 140_000, audioSpecificConfig: '' },
  ...change,
});
const facts = (videoCodec: string | undefined, audioCodec: string, simple = true): SourceFacts =>
  ({
    formatName: MOV,
    ...(videoCodec && { video: { codec: videoCodec, simpleEditList: simple } }),
    audio: [{ codec: audioCodec, simpleEditList: simple }],
  }) as unknown as SourceFacts;
const planOf = (parts: Partial<Plan>): Plan => ({ version: 1, durationSeconds: 4, ...parts });
const how = ({ video: v, audio: a }: ReturnType<typeof planMaster>) =>
  [v, a].map((part) => part && Object.keys(part)[0]);

describe('the master of an asset', () => {
  const plan = planOf({ video: video(), audio: audio({ gainDb: 3 }) });

  test.each(['h264', 'hevc', 'vp9', 'av1'])('copies %s and its audio, from the time that is zero', (codec) => {
    const master = planMaster({ plan, facts: facts(codec, 'aac'), isCut: false });
    const zero = { num: 126_000, den: 90_000 };
    expect(master).toEqual({
      video: { copy: { from: 'source', formatName: MOV, streamIndex: 0, zero } },
      audio: { copy: { from: 'source', formatName: MOV, streamIndex: 1, zero } },
    });
    expect(masterRenditions(master, 'key')).toEqual({});
  });

  test('encodes only the audio where only that does not fit', () => {
    const master = planMaster({ plan, facts: facts('h264', 'pcm_s16le'), isCut: false });
    expect(how(master)).toEqual(['copy', 'encode']);
    const { audio, ...frames } = masterRenditions(master, 'key');
    expect(frames).toEqual({});
    const { sourceKey, audio: encoded } = audio!.get(MASTER_AUDIO)!;
    // As it was, not normalised for viewers.
    expect([sourceKey, encoded.bitRate, 'gainDb' in encoded]).toEqual(['key', 256_000, false]);
  });

  test.each<[string, Partial<Parameters<typeof planMaster>[0]>]>([
    ['of a part of its source', { isCut: true }],
    ['with other codecs', { facts: facts('mpeg2video', 'aac') }],
    ['with an edit list that cuts', { facts: facts('h264', 'aac', false) }],
    ['without presentation times', { plan: planOf({ video: video({ formatName: 'avi' }), audio: audio() }) }],
    [
      'with the test mark',
      { plan: planOf({ video: video({ filters: { ...filters, testMark: true } }), audio: audio() }) },
    ],
    [
      'with overlays',
      { plan: planOf({ video: video({ filters: { ...filters, overlays: [overlay] } }), audio: audio() }) },
    ],
  ])('is encoded as a whole %s', (_, change) => {
    const master = planMaster({ plan, facts: facts('h264', 'aac'), isCut: false, ...change });
    expect(how(master)).toEqual(['encode', 'encode']);
    const [rendition] = masterRenditions(master, 'key').video!;
    expect(rendition).toMatchObject({ name: MASTER_VIDEO, kind: 'encode', width: 1920, height: 1080 });
    expect(rendition!.encoder!.crf).toBe(16);
    expect(rendition!.bandwidth).toBeGreaterThan(50_000_000);
  });

  test('copies a mezzanine beside new audio, unless something lies over it', () => {
    const repaired = video({ access: 'mezzanine' });
    const of = (frames: VideoPlan) =>
      planMaster({ plan: planOf({ video: frames, audio: audio() }), facts: facts('prores', 'aac'), isCut: false });
    expect(how(of(repaired))).toEqual(['copy', 'encode']);
    expect(of(repaired).video).toMatchObject({ copy: { from: 'mezzanine' } });
    expect(how(of({ ...repaired, filters: { ...filters, overlays: [overlay] } }))).toEqual(['encode', 'encode']);
  });

  test('of audio alone', () => {
    const plan = planOf({ audio: audio() });
    expect(how(planMaster({ plan, facts: facts(undefined, 'flac'), isCut: false }))).toEqual([undefined, 'copy']);
    expect(how(planMaster({ plan, facts: facts(undefined, 'flac'), isCut: true }))).toEqual([undefined, 'encode']);
    expect(how(planMaster({ plan, facts: facts(undefined, 'pcm_s16le'), isCut: false }))).toEqual([
      undefined,
      'encode',
    ]);
  });

  test('keeps audio that viewers get frame by frame', () => {
    const copied = planOf({ video: video(), audio: audio({ mode: 'copy', bitRate: 96_000 }) });
    const master = planMaster({ plan: copied, facts: facts('h264', 'aac'), isCut: true });
    expect(master.audio).toMatchObject({ encode: { mode: 'copy', bitRate: 96_000 } });
  });

  test('can be encoded although it could be copied', () => {
    expect(how(planEncodedMaster({ plan, facts: facts('h264', 'aac'), isCut: false }))).toEqual(['encode', 'encode']);
  });
});
