import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { measureLoudness } from '#kinora/engine/analysis/loudness.js';
import { encodeAudioChunk } from '#kinora/engine/audio/chunk.js';
import { readSamples } from '#kinora/engine/audio/reader.js';
import { audioSpecificConfig } from '#kinora/media/codecs/aac.js';
import { writeAudioInit } from '#kinora/media/mp4/cmaf.js';
import type { AudioPlan } from '#kinora/media/plan/plan.js';
import { CHANNEL_TONES } from '../support/media/fixture-media.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { measureTone, probeFile, readAudio, readPackets } from '../support/media/measure.js';

const directory = mkdtempSync(join(tmpdir(), 'audio-chunk-'));
afterAll(() => rmSync(directory, { recursive: true }));

const planFor = async (name: EncodedName, changes: Partial<AudioPlan> = {}) => {
  const path = await fixture(name);
  const file = probeFile(path);
  const stream = file.streams.find(({ type }) => type === 'audio');
  if (stream === undefined) throw new Error('no audio in the fixture');
  const sampleRate = stream.sampleRate === 44100 ? 44100 : 48000;
  const channels = stream.channels === 1 ? 1 : 2;
  const { num, den } = stream.timeBase;
  const plan: Omit<AudioPlan, 'boundaries'> = {
    streamIndex: stream.index,
    formatName: file.formatName,
    mode: 'encode',
    sourceTimeBase: stream.timeBase,
    sourceSampleRate: stream.sampleRate,
    sourceOrigin: Math.round((file.startSeconds * den) / num),
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

/**
 * Audio of AAC (1,024 samples) and of MP3 (1,105) begins this much late in containers that cannot
 * say so.
 */
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
    const { sizesBytes } = encodeAudioChunk({
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

describe('audio read in pieces', () => {
  test.each(sources)('%s equals the whole track', async (name) => {
    const { source, plan } = await planFor(name);
    const rate = plan.sampleRate;
    const whole = readSamples(source, plan, 0, 4 * rate);
    const cuts = [0, 1, 1.37, 2.0001, 3.2, 4].map((seconds) => Math.round(seconds * rate));
    for (let i = 0; i + 1 < cuts.length; i++) {
      const from = cuts[i] as number;
      const until = cuts[i + 1] as number;
      const piece = readSamples(source, plan, from, until);
      expect(piece.length).toBe(plan.channels);
      piece.forEach((samples, channel) => {
        expect(difference(samples, (whole[channel] as Float32Array).subarray(from, until))).toBeLessThan(-60);
      });
    }
  });

  test.each(sources)('%s has its audio where the time stamps say', async (name) => {
    const { source, plan } = await planFor(name);
    const rate = plan.sampleRate;
    const samples = readSamples(source, plan, 0, 4 * rate)[0] as Float32Array;
    const energy = (fromSeconds: number): number =>
      measureTone(samples, rate, 1000, Math.round(fromSeconds * rate), Math.round(rate / 100)).amplitude;
    // The beep of the third second; these containers cannot say that an encoder's first samples are
    // priming.
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
    const audio = readAudio([init, ...segments]);
    expect(audio.startSeconds).toBe(0);
    expect(audio.sampleRate).toBe(rate);
    expect(audio.channels.map(({ length }) => length)).toEqual(audio.channels.map(() => 245 * 1024));
    segments.forEach((segment, i) => {
      const packets = readPackets([init, segment]);
      const count = (boundaries[i + 1] as number) - (boundaries[i] as number);
      expect(packets.length).toBe(count);
      expect(packets[0]?.ptsSeconds).toBeCloseTo(((boundaries[i] as number) * 1024) / rate, 9);
      const bits = packets.reduce((sum, { sizeBytes }) => sum + sizeBytes * 8, 0);
      expect((bits * rate) / (count * 1024)).toBeLessThan(plan.bandwidth);
    });
    // Away from the beeps the phase of the tone is the same everywhere, also in the 50 ms around
    // each join.
    const { source } = await planFor(name);
    const original = readSamples(source, plan, 0, 245 * 1024);
    audio.channels.forEach((samples, channel) => {
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

  test.each<[EncodedName, number]>([
    ['h264-aac.mp4', 48000],
    ['h264-aac.ts', 48000],
    ['h264-aac-44100-mono.mp4', 44100],
  ])("%s: copied packets are the source's own", async (name, rate) => {
    const { init, segments, plan } = await makeTrack(name, boundaries, 2, { mode: 'copy' });
    const audio = readAudio([init, ...segments]);
    expect(audio).toMatchObject({ sampleRate: rate, startSeconds: 0 });
    expect(audio.channels.map(({ length }) => length)).toEqual(audio.channels.map(() => 245 * 1024));
    const { source } = await planFor(name);
    const original = readSamples(source, plan, 0, 245 * 1024);
    // The first packet alone lacks its predecessor's half; from the second on everything is equal,
    // also at the joins, but for the noise that AAC decoders make up themselves.
    audio.channels.forEach((samples, channel) => {
      const wanted = (original[channel] as Float32Array).subarray(2048);
      expect(difference(samples.subarray(2048), wanted)).toBeLessThan(-60);
    });
    const sizes = readPackets([init, ...segments]).map(({ sizeBytes }) => sizeBytes);
    expect(sizes.length).toBe(245);
  });

  test('a packet that is not there fails the copy cleanly', async () => {
    await expect(makeTrack('audio-shorter.mp4', [0, 100, 245], 2, { mode: 'copy' })).rejects.toThrow(/missing/);
  });

  test('a chunk made again is the same', async () => {
    const [first, second] = [
      await makeTrack('h264-mp3.mkv', boundaries, 2),
      await makeTrack('h264-mp3.mkv', boundaries, 2),
    ];
    expect(second.segments.map((bytes) => bytes.toString('hex'))).toEqual(
      first.segments.map((bytes) => bytes.toString('hex')),
    );
  });
});

/** Level of a tone in the 50 ms after a time. */
const levelAt = (samples: Float32Array, rate: number, tone: number, seconds: number): number =>
  measureTone(samples, rate, tone, Math.round(seconds * rate), rate / 20).amplitude;

describe('audio that does not fill the track', () => {
  test('late audio is preceded by silence', async () => {
    const { source, plan } = await planFor('audio-late.mkv');
    const samples = readSamples(source, plan, 0, 6 * 48000)[0] as Float32Array;
    const first = samples.findIndex((value) => Math.abs(value) > 0.02);
    expect(Math.abs(first / 48000 - 1.5)).toBeLessThan(0.002);
    expect(levelAt(samples, 48000, 400, 4.4)).toBeGreaterThan(0.19);
    expect(samples.subarray(4.51 * 48000).every((value) => value === 0)).toBe(true);
    // A range that ends before the audio begins, and one that begins after its end.
    expect(readSamples(source, plan, 0, 4800)[0]?.every((value) => value === 0)).toBe(true);
    expect(readSamples(source, plan, 5.5 * 48000, 6 * 48000)[0]?.every((value) => value === 0)).toBe(true);
  });

  test('short audio is followed by silence to the end of the track', async () => {
    const { init, segments } = await makeTrack('audio-shorter.mp4', [0, 100, 200, 282], 2);
    const audio = readAudio([init, ...segments]);
    const samples = audio.channels[0] as Float32Array;
    expect(samples.length).toBe(282 * 1024);
    expect(levelAt(samples, 48000, 400, 3.1)).toBeGreaterThan(0.19);
    expect(levelAt(samples, 48000, 400, 3.3)).toBeLessThan(0.001);
    expect(levelAt(samples, 48000, 400, 5.9)).toBeLessThan(0.001);
  });

  test('a hole is silent and what follows keeps its place', async () => {
    const { source, plan } = await planFor('audio-hole.mkv');
    const samples = readSamples(source, plan, 0, 8 * 44100)[0] as Float32Array;
    const before = measureTone(samples, 44100, 400, Math.round(2.2 * 44100), 8820);
    const after = measureTone(samples, 44100, 400, Math.round(6.2 * 44100), 8820);
    expect(levelAt(samples, 44100, 400, 3.2)).toBeLessThan(0.001);
    expect(levelAt(samples, 44100, 400, 4.3)).toBeLessThan(0.001);
    expect(after.amplitude).toBeGreaterThan(0.19);
    expect(Math.abs(after.phase - before.phase)).toBeLessThan(0.01);
    const later = readSamples(source, plan, 5 * 44100, 7 * 44100)[0] as Float32Array;
    expect(difference(later, samples.subarray(5 * 44100, 7 * 44100))).toBeLessThan(-60);
  });

  test('a drifting clock follows the time stamps', async () => {
    const { source, plan } = await planFor('audio-drift.mkv');
    const samples = readSamples(source, plan, 0, 29 * 44100)[0] as Float32Array;
    // 0.2 % of 28 s would be 56 ms: the beep of every second stays within 2 ms, and the tone at its
    // height.
    for (const second of [3, 14, 28]) {
      const at = (offset: number): number =>
        measureTone(samples, 44100, 1000, Math.round((second + offset) * 44100), 220).amplitude;
      expect(at(-0.007), `before ${second} s`).toBeLessThan(0.06);
      expect(at(0.002), `after ${second} s`).toBeGreaterThan(0.14);
    }
    const early = measureTone(samples, 44100, 400, Math.round(4.5 * 44100), 4410);
    const late = measureTone(samples, 44100, 400, Math.round(27.5 * 44100), 4410);
    expect(early.amplitude).toBeGreaterThan(0.19);
    expect(Math.abs(late.phase - early.phase)).toBeLessThan(0.6);
    // Two chunks meet without a step.
    const left = readSamples(source, plan, 8 * 44100, 12.3 * 44100)[0] as Float32Array;
    const right = readSamples(source, plan, 12.3 * 44100, 16 * 44100)[0] as Float32Array;
    expect(difference(left, samples.subarray(8 * 44100, 12.3 * 44100))).toBeLessThan(-60);
    expect(difference(right, samples.subarray(12.3 * 44100, 16 * 44100))).toBeLessThan(-60);
  });
});

describe('channels and level', () => {
  test('5.1 becomes stereo by the ITU matrix, 3 dB lower, without clipping', async () => {
    const { source, plan } = await planFor('h264-ac3-5.1.mkv');
    const [left, right] = readSamples(source, plan, 0, 5 * 48000) as [Float32Array, Float32Array];
    const gain = 10 ** (-3 / 20) * 0.2;
    // 2.4 to 2.45 s: no beep. Left gets its own channel, the center and the left surround; the
    // low-frequency channel is left out.
    expect(levelAt(left, 48000, 400, 2.4)).toBeCloseTo(gain, 2);
    expect(levelAt(right, 48000, 600, 2.4)).toBeCloseTo(gain, 2);
    expect(levelAt(left, 48000, 600, 2.4)).toBeLessThan(0.01);
    for (const side of [left, right]) expect(levelAt(side, 48000, 800, 2.4)).toBeCloseTo(gain * Math.SQRT1_2, 2);
    expect(levelAt(left, 48000, 1200, 2.4)).toBeCloseTo(gain * Math.SQRT1_2, 2);
    expect(levelAt(right, 48000, 1600, 2.4)).toBeCloseTo(gain * Math.SQRT1_2, 2);
    expect(levelAt(left, 48000, 60, 2.4)).toBeLessThan(0.01);
    expect(Math.max(...left.subarray(0, 100_000).map(Math.abs))).toBeLessThan(1);
  });

  test('mono stays mono', async () => {
    const { init, segments } = await makeTrack('h264-aac-44100-mono.mp4', [0, 100, 200], 2);
    const audio = readAudio([init, ...segments]);
    expect(audio.sampleRate).toBe(44100);
    expect(audio.channels.length).toBe(1);
  });

  test('a gain is the same everywhere', async () => {
    const { source, plan } = await planFor('h264-flac.mkv');
    const plain = readSamples(source, plan, 0, 96000)[0] as Float32Array;
    const louder = readSamples(source, { ...plan, gainDb: 6 }, 0, 96000)[0] as Float32Array;
    expect(levelAt(louder, 48000, 400, 1.5) / levelAt(plain, 48000, 400, 1.5)).toBeCloseTo(10 ** (6 / 20), 3);
  });
});

/** Of what is played: the 20 s of the fixtures, mixed down. */
const loudnessOf = async (name: EncodedName, changes: Partial<AudioPlan> = {}) => {
  // WAV has no start time.
  const { source, plan } = await planFor(name, { sourceOrigin: 0, ...changes });
  return measureLoudness({ kind: 'loudness', source, audio: plan, endFrame: 937 });
};
test('loudness: a tone measures as EBU Tech 3341 asks, silence as -70', async () => {
  const { integrated, truePeak } = await loudnessOf('loudness.wav');
  // A stereo 1,000 Hz sine at -23 dBFS in both channels measures -23 LUFS (test case 1).
  expect(Math.abs(integrated - -23)).toBeLessThan(0.1);
  expect(Math.abs(truePeak - -23)).toBeLessThan(0.2);
  expect(await loudnessOf('silence.wav')).toEqual({ integrated: -70, truePeak: -150 });
  // With the gain that is played.
  const louder = await loudnessOf('loudness.wav', { gainDb: 6 });
  expect(Math.abs(louder.integrated - -17)).toBeLessThan(0.1);
});
