import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { makeAudioChunk } from '#kinora/engine/audio-chunk.js';
import { readSound } from '#kinora/engine/audio-reader.js';
import { audioSpecificConfig } from '#kinora/media/aac.js';
import { writeAudioInit } from '#kinora/media/mp4-boxes.js';
import type { AudioPlan } from '#kinora/media/plan.js';
import { CHANNEL_TONES } from '../support/fixture-media.js';
import { type EncodedName, fixture } from '../support/fixtures.js';
import { measureTone, probeFile, readAudio, readPackets } from '../support/measure.js';

const directory = mkdtempSync(join(tmpdir(), 'audio-chunk-'));
afterAll(() => rmSync(directory, { recursive: true }));

const planFor = async (name: EncodedName, changes: Partial<AudioPlan> = {}) => {
  const path = await fixture(name);
  const file = probeFile(path);
  const stream = file.streams.find(({ type }) => type === 'audio');
  if (stream === undefined) throw new Error('no sound in the fixture');
  const sampleRate = stream.sampleRate === 44100 ? 44100 : 48000;
  const channels = stream.channels === 1 ? 1 : 2;
  const { num, den } = stream.timeBase;
  const plan: Omit<AudioPlan, 'boundaries'> = {
    streamIndex: stream.index,
    formatName: file.formatName,
    mode: 'encode',
    sourceTimeBase: stream.timeBase,
    sourceSampleRate: stream.sampleRate,
    sourceZero: Math.round((file.startSeconds * den) / num),
    sampleRate,
    channels,
    chunkSegments: 8,
    bitRate: channels === 1 ? 96_000 : 128_000,
    codecs: 'mp4a.40.2',
    bandwidth: 140_800,
    audioSpecificConfig: Buffer.from(audioSpecificConfig(sampleRate, channels)).toString('base64'),
    ...changes,
  };
  return { source: { path }, plan };
};

/** Sound of AAC (1,024 samples) and of MP3 (1,105) begins this much late in containers that cannot say so. */
const PRIMING_SECONDS: Partial<Record<EncodedName, number>> = {
  'h264-aac.ts': 1024 / 48000,
  'h264-aac.flv': 1024 / 44100,
  'h264-mp3.avi': 1105 / 44100,
};

const difference = (a: Float32Array, b: Float32Array): number => {
  let error = 0;
  let power = 0;
  expect(a.length).toBe(b.length);
  for (let i = 0; i < a.length; i++) {
    error += ((a[i] as number) - (b[i] as number)) ** 2;
    power += (a[i] as number) ** 2;
  }
  return 10 * Math.log10(error / power);
};

let made = 0;
/** Makes the chunks of a track one by one in the given order and returns all segments in order. */
const makeTrack = async (
  name: EncodedName,
  boundaries: readonly number[],
  chunkSegments: number,
  changes: Partial<AudioPlan> = {},
) => {
  const { source, plan } = await planFor(name, changes);
  const segments: Buffer[] = [];
  // Last chunk first: nothing may depend on what was made before.
  for (
    let first = Math.floor((boundaries.length - 2) / chunkSegments) * chunkSegments;
    first >= 0;
    first -= chunkSegments
  ) {
    const chunk = boundaries.slice(first, first + chunkSegments + 1);
    const outPaths = chunk.slice(1).map(() => join(directory, `${made++}.m4s`));
    const { sizesBytes } = makeAudioChunk({
      kind: 'audio-chunk',
      source,
      audio: plan,
      firstSegment: first,
      boundaries: chunk,
      endFrame: boundaries.at(-1) as number,
      outPaths,
    });
    const files = outPaths.map((path) => readFileSync(path));
    expect(sizesBytes).toEqual(files.map(({ length }) => length));
    segments.unshift(...files);
  }
  const init = Buffer.from(
    writeAudioInit({
      sampleRate: plan.sampleRate,
      channels: plan.channels,
      audioSpecificConfig: Buffer.from(plan.audioSpecificConfig, 'base64'),
    }),
  );
  return { init, segments, plan };
};

const sources: readonly EncodedName[] = [
  'h264-aac.mp4',
  'h264-aac.ts',
  'h264-mp3.mkv',
  'h264-mp3.avi',
  'h264-vorbis.mkv',
  'vp9-opus.webm',
  'h264-flac.mkv',
  'hevc-ac3.mkv',
  'mpeg2-ac3.ts',
  'prores-pcm.mov',
  'h264-aac.flv',
  'audio-only.mp3',
  'audio-only.ogg',
  'h264-aac-22050.mp4',
  'h264-ac3-5.1.mkv',
];

describe('sound read in pieces', () => {
  test.each(sources)('%s equals the whole track', async (name) => {
    const { source, plan } = await planFor(name);
    const rate = plan.sampleRate;
    const whole = readSound(source, plan, 0, 4 * rate);
    const cuts = [0, 1, 1.37, 2.0001, 3.2, 4].map((seconds) => Math.round(seconds * rate));
    for (let i = 0; i + 1 < cuts.length; i++) {
      const from = cuts[i] as number;
      const until = cuts[i + 1] as number;
      const piece = readSound(source, plan, from, until);
      expect(piece.length).toBe(plan.channels);
      piece.forEach((samples, channel) => {
        expect(difference(samples, (whole[channel] as Float32Array).subarray(from, until))).toBeLessThan(-60);
      });
    }
  });

  test.each(sources)('%s has its sound where the time stamps say', async (name) => {
    const { source, plan } = await planFor(name);
    const rate = plan.sampleRate;
    const samples = readSound(source, plan, 0, 4 * rate)[0] as Float32Array;
    const energy = (fromSeconds: number): number =>
      measureTone(samples, rate, 1000, Math.round(fromSeconds * rate), Math.round(rate / 100)).amplitude;
    // The beep of the third second; these containers cannot say that an encoder's first samples are priming.
    const begin = 2 + (PRIMING_SECONDS[name] ?? 0);
    expect(energy(begin - 0.025)).toBeLessThan(0.05);
    expect(energy(begin + 0.015)).toBeGreaterThan(0.1);
    expect(energy(begin + 0.075)).toBeGreaterThan(0.1);
    expect(energy(begin + 0.12)).toBeLessThan(0.05);
  });
});

describe('segments', () => {
  // Short segments of uneven length, in chunks of two; no beep is near a join.
  const boundaries = [0, 60, 110, 160, 207, 245];

  test.each(sources)('%s: encoded, exact in samples and without seams', async (name) => {
    const { init, segments, plan } = await makeTrack(name, boundaries, 2);
    const rate = plan.sampleRate;
    const sound = readAudio([init, ...segments]);
    expect(sound.startSeconds).toBe(0);
    expect(sound.sampleRate).toBe(rate);
    expect(sound.channels.map(({ length }) => length)).toEqual(sound.channels.map(() => 245 * 1024));
    segments.forEach((segment, i) => {
      const packets = readPackets([init, segment]);
      const count = (boundaries[i + 1] as number) - (boundaries[i] as number);
      expect(packets.length).toBe(count);
      expect(packets[0]?.ptsSeconds).toBeCloseTo(((boundaries[i] as number) * 1024) / rate, 9);
      const bits = packets.reduce((sum, { sizeBytes }) => sum + sizeBytes * 8, 0);
      expect((bits * rate) / (count * 1024)).toBeLessThan(plan.bandwidth);
    });
    // Away from the beeps the phase of the tone is the same everywhere, also in the 50 ms around each join.
    const { source } = await planFor(name);
    const original = readSound(source, plan, 0, 245 * 1024);
    sound.channels.forEach((samples, channel) => {
      const tone = CHANNEL_TONES[channel] as number;
      const wanted = original[channel] as Float32Array;
      const span = rate / 20;
      for (const boundary of boundaries.slice(1, -1)) {
        const from = Math.round(boundary * 1024 - span / 2);
        const got = measureTone(samples, rate, tone, from, span);
        const expected = measureTone(wanted, rate, tone, from, span);
        const phase = Math.abs(Math.atan2(Math.sin(got.phase - expected.phase), Math.cos(got.phase - expected.phase)));
        expect(phase, `phase at frame ${boundary}`).toBeLessThan(0.02);
        expect(got.amplitude / expected.amplitude, `level at frame ${boundary}`).toBeCloseTo(1, 1);
        const joint = difference(samples.subarray(from, from + span), wanted.subarray(from, from + span));
        expect(joint, `noise at frame ${boundary}`).toBeLessThan(-24);
      }
    });
  });
});
