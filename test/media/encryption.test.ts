/** Encrypted segments beside those of shaka-packager, and decrypted by FFmpeg. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CbcsCipher } from '#kinora/media/mp4/cbcs.js';
import { writeAudioInit, writeFragment, writeVideoInit } from '#kinora/media/mp4/cmaf.js';
import { encryptInit, parameterSetsOf } from '#kinora/media/mp4/encrypt-init.js';
import { encryptPart, planEncryption } from '#kinora/media/mp4/encrypt-segment.js';
import { psshBox, systemIds } from '#kinora/media/mp4/pssh.js';
import { writeMedia } from '../support/media/fixture-media.js';
import type { VideoRecipe } from '../support/media/fixture-recipe.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { probeFile, readPacketBytes } from '../support/media/measure.js';
import { initOf, makeSegment, planFile, withFolder } from '../support/media/video-run.js';
import { packageEncrypted, type RawKey, readSamples } from '../support/players/shaka-packager.js';

const key: RawKey = { kid: randomBytes(16), key: randomBytes(16), iv: randomBytes(16) };

interface Clear {
  readonly init: Uint8Array;
  readonly segments: readonly Uint8Array[];
}

const encryptSegment = (segment: Uint8Array, init: Uint8Array): Buffer => {
  const plan = planEncryption(segment, parameterSetsOf(init));
  const body = Uint8Array.from(segment.subarray(plan.bodyStart));
  encryptPart(plan, new CbcsCipher(key), body, plan.bodyStart);
  const bytes = Buffer.concat([plan.head, body]);
  expect(bytes.length).toBe(plan.sizeBytes);
  return bytes;
};

const encrypt = ({ init, segments }: Clear): Buffer => {
  const pssh = [psshBox(systemIds.common, new Uint8Array(0), [key.kid])];
  return Buffer.concat([
    encryptInit(init, { ...key, pssh }),
    ...segments.map((segment) => encryptSegment(segment, init)),
  ]);
};

const expectLikePackager = (clear: Clear): void =>
  withFolder((folder) => {
    const file = Buffer.concat([clear.init, ...clear.segments]);
    const ours = readSamples(encrypt(clear));
    const theirs = readSamples(packageEncrypted(folder, file, key));
    expect(ours.subsamples).toEqual(theirs.subsamples);
    expect(ours.data.equals(theirs.data)).toBe(true);
    expect(ours.data.equals(readSamples(file).data)).toBe(false);
  });

/** The packets of a file as one fragment, with times of no meaning. */
const fragmentOf = (packets: readonly Buffer[]): Uint8Array =>
  writeFragment({
    sequence: 1,
    baseDecodeTicks: 0,
    samples: packets.map(({ length }, index) => ({
      durationTicks: 1024,
      compositionOffsetTicks: 0,
      sizeBytes: length,
      sync: index === 0,
    })),
    data: packets,
  });

const small: VideoRecipe = { encoder: 'libx264', width: 320, height: 180, rate: [30, 1], gop: 30 };
const x264 = (params: string, more: Record<string, string> = {}) => ({
  preset: 'veryfast',
  crf: '20',
  'x264-params': `scenecut=0:open-gop=0:threads=1:${params}`,
  ...more,
});

const streams: Readonly<Record<string, VideoRecipe>> = {
  High: { ...small, bFrames: 2, options: x264('cabac=1:8x8dct=1') },
  Main: { ...small, bFrames: 2, options: x264('bframes=2', { profile: 'main' }) },
  Baseline: { ...small, options: x264('bframes=0', { profile: 'baseline' }) },
  'four slices, weights and a pyramid of B-frames': {
    ...small,
    bFrames: 4,
    options: x264('slices=4:weightp=2:weightb=1:b-pyramid=normal:bframes=4:b-adapt=0:ref=4:direct=auto'),
  },
  interlaced: {
    ...small,
    rate: [50, 1],
    interlaced: true,
    filter: 'interlace=scan=tff:lowpass=off',
    options: x264('tff=1:ref=3'),
  },
  'High 4:2:2': { ...small, filter: 'format=yuv422p', options: x264('cqm=jvt', { profile: 'high422' }) },
  'intra refresh': { ...small, options: x264('intra-refresh=1:keyint=15') },
  'slices of a few bytes': {
    ...small,
    width: 64,
    height: 48,
    bFrames: 4,
    options: x264('slices=3:weightp=2:b-adapt=0', { crf: '45' }),
  },
  'large frames': { ...small, width: 1280, height: 720, options: x264('', { crf: '8' }) },
};

describe('encrypted samples equal those of shaka-packager', () => {
  test.each(Object.entries(streams))('H.264, %s', (_, video) =>
    withFolder((folder) => {
      const path = join(folder, 'source.mp4');
      writeMedia({ muxer: 'mp4', seconds: 2, video }, path);
      const [stream] = probeFile(path).streams;
      const init = writeVideoInit({
        timescale: 30_000,
        width: video.width,
        height: video.height,
        avcc: stream!.extradata!,
      });
      expectLikePackager({ init, segments: [fragmentOf(readPacketBytes(path))] });
    }),
  );

  test('AAC', () =>
    withFolder((folder) => {
      const path = join(folder, 'source.mp4');
      const audio = { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 128_000 };
      writeMedia({ muxer: 'mp4', seconds: 2, audio }, path);
      const [stream] = probeFile(path).streams;
      const init = writeAudioInit({ sampleRate: 48_000, channels: 2, audioSpecificConfig: stream!.extradata! });
      expectLikePackager({ init, segments: [fragmentOf(readPacketBytes(path))] });
    }));

  const sources: EncodedName[] = ['h264-aac.mp4', 'copy-720p.mp4', 'open-gop.mp4', 'intra-refresh.mp4', 'hevc-aac.mp4'];
  test.each(sources)('every rendition of %s', async (name) => {
    const source = await planFile(await fixture(name), { quality: 'plus' });
    for (const rendition of source.video.renditions) {
      const { bytes } = await makeSegment(source, rendition, 0);
      expectLikePackager({ init: initOf(source, rendition), segments: [bytes] });
    }
  });
});
