import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AV_PKT_DATA_FRAME_CROPPING } from 'node-av/constants';
import { FFmpegError, FormatContext, Packet } from 'node-av/lib';
import { describe, expect, test } from 'vitest';
import { probe } from '#kinora/engine/analysis/probe.js';
import { checkSanity } from '#kinora/engine/analysis/sanity.js';
import { FrameFilter } from '#kinora/engine/video/frame-filter.js';
import { VideoReader } from '#kinora/engine/video/reader.js';
import { decideAccess } from '#kinora/media/plan/mezzanine-decision.js';
import { planAsset } from '#kinora/media/plan/plan-asset.js';
import type { SourceFacts } from '#kinora/media/source/source-facts.js';
import type { SourceIndex } from '#kinora/media/source/source-index.js';
import type { SanityResult } from '#kinora/pool/protocol.js';
import { type EncodedName, type FixtureName, fixture } from '../support/media/fixtures.js';
import { probeFile as measureFile, readFrameCounters } from '../support/media/measure.js';
import { withMezzanine } from '../support/media/mezzanine-run.js';
import {
  indexFile,
  initOf,
  LIMITS,
  makeSegments,
  type PlannedSource,
  planFile,
  probeFile,
  segmentNumbers,
  withFolder,
} from '../support/media/video-run.js';

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

const check = (path: string, facts: SourceFacts): SanityResult =>
  checkSanity({
    kind: 'sanity',
    source: { path, formatName: facts.formatName },
    ...(facts.video && { video: { ...facts.video, threads: 2 } }),
    ...(facts.audio[0] && { audio: facts.audio[0] }),
    durationSeconds: facts.durationSeconds,
  });

describe('facts', () => {
  const videoFacts = async (name: EncodedName) => (await probeFile(await fixture(name))).video!;

  test('of a plain MP4', async () => {
    const facts = await probeFile(await fixture('h264-aac.mp4'));
    expect(facts).toMatchObject({ formatName: 'mov,mp4,m4a,3gp,3g2,mj2', durationSeconds: 6 });
    expect(facts.video).toMatchObject({
      streamIndex: 0,
      codec: 'h264',
      profile: 100,
      level: 13,
      width: 320,
      height: 180,
      sampleAspect: { num: 1, den: 1 },
      rotation: 0,
      flipHorizontal: false,
      pixelFormat: 'yuv420p',
      bitDepth: 8,
      timeBase: { num: 1, den: 15360 },
      frameRate: { num: 30, den: 1 },
      interlaced: false,
      color: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' },
      idrKeyFrames: true,
      closedCaptions: false,
      durationSeconds: 6,
      simpleEditList: true,
    });
    expect(facts.audio).toMatchObject([
      { codec: 'aac', profile: 1, sampleRate: 48000, channels: 2, channelLayout: 'stereo', isDefault: true },
    ]);
    // AAC-LC, 48 kHz, two channels.
    expect(Buffer.from(facts.audio[0]!.audioSpecificConfig!, 'base64').subarray(0, 2).toString('hex')).toBe('1190');
  });

  test('a transport stream gets the records that its container lacks', async () => {
    const facts = await probeFile(await fixture('h264-aac.ts'));
    expect(facts.audio[0]!.audioSpecificConfig).toBe(Buffer.from('1190', 'hex').toString('base64'));
    const avcc = Buffer.from(facts.video!.avcc!, 'base64');
    expect([...avcc.subarray(0, 2), avcc[4]]).toEqual([1, 100, 0xff]);
  });

  test.each([
    ['interlaced-tff.ts', { interlaced: true }],
    ['interlaced-mpeg2.ts', { interlaced: true }],
    ['portrait-90.mp4', { rotation: 90, width: 320, height: 180 }],
    ['portrait-270.mov', { rotation: 270 }],
    ['rotated-180.mp4', { rotation: 180 }],
    ['anamorphic.mp4', { sampleAspect: { num: 4, den: 3 }, width: 240 }],
    ['h264-ten-bit.mkv', { bitDepth: 10, pixelFormat: 'yuv420p10le' }],
    ['prores-pcm.mov', { codec: 'prores', bitDepth: 10 }],
    ['hdr-pq.mp4', { color: { primaries: 'bt2020', transfer: 'smpte2084', matrix: 'bt2020nc', range: 'tv' } }],
    ['hdr-hlg.mp4', { color: { primaries: 'bt2020', transfer: 'arib-std-b67', matrix: 'bt2020nc', range: 'tv' } }],
    ['open-gop.mp4', { idrKeyFrames: false }],
    ['intra-refresh.mp4', { idrKeyFrames: false }],
    ['fps-29.97.mp4', { frameRate: { num: 30000, den: 1001 } }],
  ] as const)('%s', async (name, expected) => {
    expect(await videoFacts(name)).toMatchObject(expected);
  });

  test('video besides the main stream, but no cover art', async () => {
    const path = await fixture('two-videos.mp4');
    expect(measureFile(path).streams.map(({ codec }) => codec)).toEqual(['h264', 'h264', 'png']);
    const { video, otherVideo } = await probeFile(path);
    expect(video!.streamIndex).toBe(0);
    expect(otherVideo).toEqual([{ type: 'video', streamIndex: 1, codec: 'h264', durationSeconds: 6 }]);
  });

  test.each([
    ['audio-only.mp3', 'mp3', 'stereo'],
    ['audio-only.wav', 'pcm_s16le', 'stereo'],
    ['audio-only.flac', 'flac', 'stereo'],
    ['audio-only.ogg', 'opus', 'stereo'],
    ['h264-ac3-5.1.mkv', 'ac3', '5.1(side)'],
  ] as const)('audio of %s', async (name, codec, channelLayout) => {
    const facts = await probeFile(await fixture(name));
    expect(facts.audio[0]).toMatchObject({ codec, channelLayout });
    expect(check(await fixture(name), facts)).toEqual({ decodable: true });
  });
});

/**
 * Copies the video stream into Matroska and declares that `cut` pixels of each side are not to be
 * shown.
 */
const remuxCropped = (from: string, to: string, cut: number): void => {
  const input = new FormatContext();
  const output = new FormatContext();
  const packet = new Packet();
  packet.alloc();
  FFmpegError.throwIfError(input.openInputSync(from), 'open');
  FFmpegError.throwIfError(input.findStreamInfoSync(), 'find streams');
  FFmpegError.throwIfError(output.allocOutputContext2(null, 'matroska', to), 'muxer');
  const source = input.streams[0]!;
  const stream = output.newStream(null);
  source.codecpar.copy(stream.codecpar);
  stream.codecpar.codecTag = 0;
  const cropping = Buffer.from(new Uint32Array([cut, cut, cut, cut]).buffer);
  FFmpegError.throwIfError(stream.codecpar.addCodedSideData(AV_PKT_DATA_FRAME_CROPPING, cropping), 'side data');
  FFmpegError.throwIfError(output.openOutputSync(), 'open output');
  FFmpegError.throwIfError(output.writeHeaderSync(), 'header');
  while (input.readFrameSync(packet) >= 0) {
    if (packet.streamIndex === 0) {
      packet.rescaleTs(source.timeBase, stream.timeBase);
      FFmpegError.throwIfError(output.interleavedWriteFrameSync(packet), 'write');
    }
    packet.unref();
  }
  output.writeTrailerSync();
  output.closeOutputSync();
  input.closeInputSync();
  packet.free();
};

test('pixels outside the clean aperture are cut off', async () => {
  const from = await fixture('h264-aac.mp4');
  await withFolder(async (folder) => {
    const path = join(folder, 'cropped.mkv');
    remuxCropped(from, path, 16);
    const source = await planFile(path);
    expect(source.facts.video).toMatchObject({ width: 288, height: 148 });
    expect(source.video.renditions.every(({ kind }) => kind === 'encode')).toBe(true);
    const whole = await planFile(from);
    const brightness = (planned: PlannedSource, height: number): number => {
      const { width } = planned.video.renditions[0]!;
      const reader = new VideoReader({ path: planned.path }, 0, 1);
      let top = 0;
      const filter = new FrameFilter(
        {
          filters: planned.video.filters,
          crop: reader.crop,
          width,
          height,
          timeBase: planned.video.timeBase,
          threads: 1,
        },
        (frame) => {
          const luma = frame.toBuffer().subarray(0, width * 4);
          top = luma.reduce((sum, byte) => sum + byte, 0) / luma.length;
        },
      );
      const first = reader.take()!;
      filter.push(first.frame, first.pts);
      filter.flush();
      filter.close();
      reader.close();
      return top;
    };
    // The first frame has the number 0: its top rows are black until they are cut off.
    expect(brightness(whole, 180)).toBeLessThan(30);
    expect(brightness(source, 148)).toBeGreaterThan(50);
  });
});

/** What is found out of the first bytes of a fixture. */
const probeStart = async (name: FixtureName, bytes: number): ReturnType<typeof probeFile> => {
  const start = readFileSync(await fixture(name)).subarray(0, bytes);
  return withFolder((folder) => {
    const path = join(folder, 'start');
    writeFileSync(path, start);
    return probeFile(path);
  });
};

describe('what is no media is refused', () => {
  test.each([
    ['garbage.mp4', 'The input file is not a valid video file.'],
    ['text.mp4', 'The input file is not a valid video file.'],
    ['hls-playlist.mp4', 'The input file is not a valid video file.'],
    ['still.gif', 'The input file is not a valid video file.'],
    ['truncated-without-index.mov', 'The file is damaged: its index (the moov box) is missing or cut off.'],
    ['png-bomb.mkv', 'The video has 12000x12000 pixels, which is more than is supported.'],
  ] as const)('%s', async (name, message) => {
    const path = await fixture(name);
    await expect(probeFile(path)).rejects.toThrow(expect.objectContaining({ code: 'invalid_input', message }));
  });

  test.each([
    ['concat-script.mp4', 'concat', 'The file format concat is not supported.'],
    ['dash-manifest.mp4', 'dash', 'The file format dash is not supported.'],
    ['image.png', 'png_pipe', 'The file format png_pipe is not supported.'],
    ['subtitles.srt', 'srt', 'The input file does not contain any video or audio.'],
    ['unknown-codec.mp4', 'mov,mp4,m4a,3gp,3g2,mj2', 'The video codec zzzz is not supported.'],
  ] as const)('%s', async (name, formatName, message) => {
    const facts = await probeFile(await fixture(name));
    expect(facts).toMatchObject({ formatName, audio: [], refusal: [message] });
    expect(facts).not.toHaveProperty('video');
  });

  test.each([
    ['audio-only.mp3', 64, 'The file is damaged: its header holds invalid data.'],
    ['h264-aac.ts', 300, 'The file is damaged: it ends within its header.'],
    ['h264-mp3.mkv', 300, "The input file is damaged and can't be played."],
  ] as const)('%s, of which %d bytes are left', async (name, bytes, message) => {
    await expect(probeStart(name, bytes)).rejects.toThrow(expect.objectContaining({ code: 'invalid_input', message }));
  });

  test('audio of which too little is left', async () => {
    const { audio, unplayable } = await probeStart('h264-aac.ts', 1000);
    const reason = 'The file is damaged: the sample rate of the audio is missing.';
    expect([audio, unplayable]).toEqual([[], [expect.objectContaining({ type: 'audio', codec: 'aac', reason })]]);
  });

  test('an empty file', async () => {
    const path = await fixture('empty.mp4');
    await expect(probeFile(path)).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_input', message: 'The input file is empty.' }),
    );
  });

  test('more pixels or streams than allowed', async () => {
    const path = await fixture('h264-aac.mp4');
    const refused = expect.objectContaining({ code: 'invalid_input' });
    await expect(probe({ kind: 'probe', source: { path }, ...LIMITS, maxPixels: 320 * 180 - 1 })).rejects.toThrow(
      refused,
    );
    await expect(probe({ kind: 'probe', source: { path }, ...LIMITS, maxStreams: 1 })).rejects.toThrow(refused);
  });

  test('a file of another format than the probe found', async () => {
    const path = await fixture('h264-mp3.mkv');
    const facts = await probeFile(path);
    expect(() => indexFile(path, { ...facts, formatName: 'mov,mp4,m4a,3gp,3g2,mj2' })).toThrow(
      expect.objectContaining({ code: 'media_failed' }),
    );
  });
});

describe('sanity', () => {
  test.each([
    'h264-aac.mp4',
    'open-gop-hevc.mkv',
    'interlaced-mpeg2.ts',
    'audio-shorter.mp4',
    'audio-late.mkv',
  ] as const)('%s is audio', async (name) => {
    const path = await fixture(name);
    expect(check(path, await probeFile(path))).toEqual({ decodable: true });
  });
  test.each(['bit-flips-in-data.mp4', 'bit-flips.ts'] as const)('%s is damaged', async (name) => {
    const path = await fixture(name);
    // What a damaged transport stream seems to last may be wrong too.
    const { problem, decodable } = check(path, { ...(await probeFile(path)), durationSeconds: 6 });
    expect(problem).toMatch(/damaged/);
    expect(decodable).toBe(true);
  });
});

const sorted = (index: SourceIndex): number[] => [...index.video!.pts].sort((a, b) => a - b);

describe('mezzanine', () => {
  test('of a source with one key frame: the same frames and times, key frames every two seconds', async () => {
    await withMezzanine(await fixture('one-key-frame.mp4'), 1, async (made, source) => {
      expect(decideAccess(source.facts, source.index)).toMatchObject({ access: 'mezzanine', sequential: true });
      expect(made.results).toMatchObject([{ frames: 900, decodeErrors: 0 }]);
      expect(readFrameCounters(made.path).map(({ counter }) => counter)).toEqual(numbers(0, 900));
      expect(sorted(made.index)).toEqual(sorted(source.index));
      expect([...made.index.video!.key].reduce((sum, key) => sum + key)).toBe(15);
      expect(decideAccess(made.facts, made.index)).toEqual({ access: 'direct' });

      // Segments are then made from it.
      const { width, height, timeBase } = made.facts.video!;
      const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;
      const mezzanine = { index: made.index.video!, width, height, timeBase };
      const plan = planAsset({ facts: source.facts, index: source.index, settings, mezzanine });
      const planned = { ...source, path: made.path, plan, video: plan.video! };
      const rendition = plan.video!.renditions[0]!;
      const segments = [...segmentNumbers(planned)].slice(3, 6).reverse();
      const bytes = (await makeSegments(planned, rendition, segments)).reverse();
      const counters = readFrameCounters([initOf(planned, rendition), ...bytes]).map(({ counter }) => counter);
      expect(counters).toEqual(numbers(240, 360));
    });
  });

  test('in chunks: nothing is lost or doubled where they join', async () => {
    await withMezzanine(await fixture('open-gop.mp4'), 4, (made, source) => {
      expect(made.results).toHaveLength(4);
      expect(readFrameCounters(made.path).map(({ counter }) => counter)).toEqual(numbers(0, 300));
      expect(sorted(made.index)).toEqual(sorted(source.index));
    });
  });

  test('of interlaced video in chunks', async () => {
    await withMezzanine(await fixture('interlaced-mpeg2.ts'), 3, (made, source) => {
      expect(readFrameCounters(made.path).map(({ counter }) => counter)).toEqual(numbers(0, 150));
      expect(sorted(made.index)).toEqual(sorted(source.index));
      expect(made.facts.video!.interlaced).toBe(false);
    });
  });

  test('of portrait video is upright', async () => {
    await withMezzanine(await fixture('portrait-90.mp4'), 1, (made) => {
      expect(made.facts.video).toMatchObject({ width: 180, height: 320, rotation: 0 });
      expect(readFrameCounters(made.path)).toHaveLength(180);
    });
  });

  test('of two recordings in one file lays them end to end', async () => {
    await withMezzanine(await fixture('ts-concatenated.ts'), 1, (made, source) => {
      expect(source.index.discontinuous).toBe(true);
      expect(readFrameCounters(made.path).map(({ counter }) => counter)).toEqual([
        ...numbers(0, 180),
        ...numbers(1000, 150),
      ]);
      const times = sorted(made.index);
      expect(times.slice(1).every((time, index) => time - times[index]! === 3000)).toBe(true);
      expect(made.index.discontinuous).toBe(false);
    });
  });

  test('of a damaged source keeps what can be decoded', async () => {
    await withMezzanine(await fixture('bit-flips-in-data.mp4'), 1, (made) => {
      expect(made.results[0]!.decodeErrors).toBeGreaterThan(0);
      expect(made.results[0]!.frames).toBeGreaterThan(150);
      expect(check(made.path, made.facts)).toEqual({ decodable: true });
    });
  });
});
