import { AV_TIME_BASE, AVSEEK_FLAG_BACKWARD } from 'node-av/constants';
import { avGetCodecName, Codec, InputFormat } from 'node-av/lib';
import { describe, expect, test } from 'vitest';
import { readSamples } from '#kinora/engine/audio/reader.js';
import { openSource } from '#kinora/engine/ffmpeg/open-source.js';
import { allowedDecoders, REFUSED_DECODERS, REFUSED_FORMATS } from '#kinora/engine/ffmpeg/supported-media.js';
import { ONE_FRAME_PACKETS } from '#kinora/media/plan/frame-packets.js';
import { DIRECT_FORMATS, decideAccess } from '#kinora/media/plan/mezzanine-decision.js';
import type { Plan } from '#kinora/media/plan/plan.js';
import { planAsset } from '#kinora/media/plan/plan-asset.js';
import { describeWarnings } from '#kinora/media/plan/source-warnings.js';
import { type FixtureName, fixture } from '../support/media/fixtures.js';
import { lumaErrors, psnr } from '../support/media/frame-error.js';
import { makeThumbnail } from '../support/media/image-run.js';
import { measureTone, readFrameCounters, readLuma, readPackets, readRgbFrames } from '../support/media/measure.js';
import { withMezzanine } from '../support/media/mezzanine-run.js';
import {
  indexFile,
  initOf,
  makeSegments,
  type PlannedSource,
  planFile,
  probeFile,
  segmentNumbers,
} from '../support/media/video-run.js';

const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** What a viewer gets, from the source or its mezzanine. */
const playedBytes = async (source: PlannedSource): Promise<Uint8Array[]> => {
  const rendition = source.video.renditions.at(-1)!;
  // Backwards: no segment may need the one before it.
  const segments = segmentNumbers(source).reverse();
  const bytes = (await makeSegments(source, rendition, segments)).reverse();
  return [initOf(source, rendition), ...bytes];
};

const playedCounters = async (source: PlannedSource): Promise<number[]> =>
  readFrameCounters(await playedBytes(source)).map(({ counter }) => counter);

/** `inspect` sees the source or its mezzanine as it is played. */
const play = async (
  name: FixtureName,
  inspect: (source: PlannedSource) => void | Promise<void> = () => undefined,
): Promise<{ counters: number[]; plan: Plan; access: string }> => {
  const path = await fixture(name);
  const facts = await probeFile(path);
  const index = indexFile(path, facts);
  const decision = decideAccess(facts, index);
  if (decision.access === 'direct') {
    const plan = planAsset({ facts, index, settings });
    const source = { path, facts, index, plan, video: plan.video! };
    await inspect(source);
    return { counters: await playedCounters(source), plan, access: 'direct' };
  }
  let played: { counters: number[]; plan: Plan } | undefined;
  await withMezzanine(path, 1, async (made, source) => {
    const { width, height, timeBase } = made.facts.video!;
    const mezzanine = { index: made.index.video!, width, height, timeBase };
    const plan = planAsset({ facts, index, settings, mezzanine });
    const planned = { ...source, path: made.path, plan, video: plan.video! };
    await inspect(planned);
    played = { counters: await playedCounters(planned), plan };
  });
  return { ...played!, access: decision.reason };
};

const audioOf = async (name: FixtureName) => {
  const path = await fixture(name);
  const facts = await probeFile(path);
  const plan = planAsset({ facts, index: indexFile(path, facts), settings });
  const { audio } = plan;
  if (!audio) throw new Error('no audio in the plan');
  const source = { path, formatName: facts.formatName };
  return {
    plan,
    audio,
    /** Two tenths of a second of the first channel. */
    at: (seconds: number): Float32Array => {
      const from = Math.round(seconds * audio.sampleRate);
      return readSamples(source, audio, from, from + audio.sampleRate / 5)[0]!;
    },
  };
};

/** Loudness of the tone that a recipe puts into the first channel. */
const toneAt = async (name: FixtureName, seconds: readonly number[]): Promise<number[]> => {
  const { audio, at } = await audioOf(name);
  return seconds.map((time) => measureTone(at(time), audio.sampleRate, 400, 0, audio.sampleRate / 10).amplitude);
};

describe('names of formats and codecs', () => {
  const codecs = Codec.getCodecList().filter((codec) => codec.isDecoder());
  const decoders = new Set(codecs.map(({ name }) => name));

  test('are those that FFmpeg knows', () => {
    for (const name of [...REFUSED_FORMATS, ...DIRECT_FORMATS])
      expect(InputFormat.findInputFormat(name)?.name?.split(','), name).toContain(name);
    for (const name of REFUSED_DECODERS) expect(decoders, name).toContain(name);
    const names = new Set(codecs.map(({ id }) => avGetCodecName(id)));
    for (const name of ONE_FRAME_PACKETS) expect(names, name).toContain(name);
  });

  test('what the build decodes is allowed, devices and memory are not', () => {
    const allowed = new Set(allowedDecoders.split(','));
    for (const name of ['h264', 'hevc', 'libdav1d', 'vp6f', 'amrnb', 'amrwb', 'qtrle', 'cfhd', 'webp_anim', 'dvvideo'])
      expect(allowed, name).toContain(name);
    for (const name of ['wrapped_avframe', 'h264_v4l2m2m', 'h264_cuvid', 'subrip', 'ansi'])
      expect(allowed, name).not.toContain(name);
  });
});

describe('formats and codecs that few files have', () => {
  test.each([
    ['animation.gif', 100],
    ['animation.png', 100],
    ['animation.webp', 100],
    ['rle-pcm.mov', 100],
    ['png-pcm.mov', 100],
    ['cineform-pcm.mov', 100],
    ['cinepak-pcm.avi', 50],
    ['huffyuv-pcm.avi', 100],
    ['sorenson-mp3.flv', 100],
    ['raw.y4m', 100],
    ['raw.dv', 50],
    ['without-cues.mkv', 300],
    ['below-zero.mkv', 100],
  ] as const)(
    '%s: every frame is played once',
    async (name, count) => {
      expect((await play(name)).counters).toEqual(numbers(count));
    },
    120_000,
  );

  test.each([
    ['audio-only.aiff', 12],
    ['audio-only.caf', 12],
    ['audio-only.ac3', 12],
    ['rle-pcm.mov', 4],
    ['raw.dv', 2],
    ['without-cues.mkv', 12],
    ['below-zero.mkv', 4],
    ['without-index.avi', 48],
    ['unmarked-start.mp4', 12],
  ] as const)(
    '%s: audio is played from start to end',
    async (name, seconds) => {
      const amplitudes = await toneAt(name, [0.3, seconds / 2 + 0.3, seconds - 0.5]);
      for (const amplitude of amplitudes) expect(amplitude).toBeCloseTo(0.2, 1);
    },
    60_000,
  );

  test('below-zero.mkv begins a second below zero', async () => {
    const packets = readPackets(await fixture('below-zero.mkv'));
    for (const stream of [0, 1]) {
      const times = packets.flatMap(({ streamIndex, ptsSeconds }) => (streamIndex === stream ? [ptsSeconds] : []));
      expect(Math.min(...times)).toBeCloseTo(-1, 1);
    }
  });

  test('vp6.flv: every frame is played once', async () => {
    const source = await planFile(await fixture('vp6.flv'));
    const frames = readLuma(source.path);
    const nearest = readLuma(await playedBytes(source)).map((played) => {
      const errors = lumaErrors(Array(frames.length).fill(played), frames);
      return errors.indexOf(Math.min(...errors));
    });
    expect(nearest).toEqual(numbers(20));
  });

  test('audio at places that FFmpeg refuses to seek to is read from the start', async () => {
    const name = 'unseekable-start.mp4';
    const format = openSource({ path: await fixture(name) });
    const seek = (seconds: number) =>
      format.seekFrameSync(-1, BigInt(seconds * AV_TIME_BASE), AVSEEK_FLAG_BACKWARD as never);
    expect([seek(1), seek(0)]).toEqual([-1, -1]);
    format.closeInputSync();
    for (const amplitude of await toneAt(name, [3, 3.3, 5])) expect(amplitude).toBeCloseTo(0.2, 1);
  });

  test.each(['h264-amr.3gp', 'h264-amr-wb.3gp', 'audio-only.amr'] as const)('%s: the speech is heard', async (name) => {
    const { at } = await audioOf(name);
    for (const seconds of [0.5, 3, 5.5]) {
      const samples = at(seconds);
      const power = samples.reduce((sum, value) => sum + value * value, 0) / samples.length;
      expect(Math.sqrt(power), `at ${seconds} s`).toBeGreaterThan(0.005);
    }
  });
});

describe('files that say wrong things of their key frames', () => {
  test('H.263 in which every packet is marked as a key frame is read once in order', async () => {
    const name = 'h263-false-key-frames.3gp';
    const path = await fixture(name);
    const { counters, access } = await play(name, async (source) => {
      // Whole frames: the bars of the counter are right above black blocks as well.
      const worst = Math.max(...lumaErrors(readLuma(await playedBytes(source)), readLuma(path)));
      expect(psnr([worst])).toBeGreaterThan(25);
      const wanted = readRgbFrames(path);
      for (const second of [0, 3.4, 7.6]) {
        const thumbnail = readRgbFrames([makeThumbnail(source, { time: second })])[0]!;
        const luma = [thumbnail, wanted[second * 25]!].map(({ width, height, rgb }) => ({ width, height, luma: rgb }));
        expect(psnr(lumaErrors(luma.slice(0, 1), luma.slice(1))), `at ${second} s`).toBeGreaterThan(25);
      }
    });
    expect(access).toBe('packets marked as key frames hold none');
    expect(counters).toEqual(numbers(200));
  });

  test('the first key frame is not marked: nothing is left out', async () => {
    expect((await play('unmarked-start.mp4')).counters).toEqual(numbers(300));
  });

  test('a stream that begins between two key frames begins with the second', async () => {
    const { counters } = await play('mid-gop.ts');
    expect(counters).toEqual(numbers(180).slice(60));
  });

  test('a transport stream whose first key frame alone restores the whole frame is read once in order', async () => {
    const { counters, access } = await play('intra-refresh.ts');
    expect(access).toBe('key frames do not restore the whole frame');
    expect(counters).toEqual(numbers(200));
  });

  test('a long transport stream needs no index', async () => {
    const { counters, access } = await play('long.ts');
    expect(access).toBe('direct');
    expect(counters).toEqual(numbers(1100));
  });

  test('a long file without an index is read once in order', async () => {
    const { counters, access } = await play('without-index.avi');
    expect(access).toBe('the file has no index to seek by');
    expect(counters).toEqual(numbers(1200));
  });
});

test('the only frame of a raw stream lasts as long as its frame rate says', async () => {
  const { counters, plan } = await play('one-frame.h264');
  expect(counters).toHaveLength(1);
  expect(plan.durationSeconds).toBeCloseTo(0.04, 3);
});

test('a raw stream that states no frame rate keeps every frame, at 25 a second, and a warning says so', async () => {
  const { counters, plan, access } = await play('no-rate.hevc');
  expect(access).toMatch(/no exact seeking/);
  expect(counters).toEqual(numbers(200));
  expect(plan.durationSeconds).toBeCloseTo(8, 3);
  const facts = await probeFile(await fixture('no-rate.hevc'));
  expect(describeWarnings(facts, plan)).toMatchObject([{ type: 'frame_rate_assumed' }]);
});
