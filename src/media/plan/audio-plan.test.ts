import { describe, expect, test } from 'vitest';
import { audioFacts, steadyIndex } from '../../../test/support/media/media-values.js';
import type { AudioFacts } from '../source/source-facts.js';
import type { StreamIndex } from '../source/source-index.js';
import { planAudio } from './audio-plan.js';

const ZERO = { num: 0, den: 1 };
/** 470 frames are 10.0267 s. */
const tenSeconds = steadyIndex(470, 1024, 1, { sizeBytes: 341 });
const plan = (audio: Partial<AudioFacts> = {}, index: StreamIndex = tenSeconds, changes: object = {}) =>
  planAudio({ audio: audioFacts(audio), formatName: 'mov', index, zero: ZERO, endSeconds: 10, ...changes });
const videoBoundaries = [0, 4.004, 8.008, 10];

describe('planAudio', () => {
  test('copies plain AAC-LC, cut at the frames nearest to the cuts of the video', () => {
    // 4.004 s x 48000 / 1024 = 187.69, 8.008 s = 375.4, 10 s = 468.75
    expect(plan({}, tenSeconds, { videoBoundaries })).toEqual({
      streamIndex: 1,
      formatName: 'mov',
      mode: 'copy',
      sourceTimeBase: { num: 1, den: 48_000 },
      sourceSampleRate: 48_000,
      sourceOrigin: 0,
      sampleRate: 48_000,
      channels: 2,
      boundaries: [0, 188, 375, 469],
      chunkSegments: 8,
      firstChunkSegments: 3,
      bitRate: 127_875,
      codecs: 'mp4a.40.2',
      bandwidth: 134_370,
      audioSpecificConfig: 'EZA=',
    });
  });
  test('makes fewer segments at a time when frames are far apart', () => {
    const chunkSegments = (boundaries: number[]): number =>
      plan({}, tenSeconds, { videoBoundaries: boundaries }).chunkSegments;
    expect(chunkSegments([0, 8, 10])).toBe(8);
    expect(chunkSegments([0, 30, 34])).toBe(2);
    expect(chunkSegments([0, 300])).toBe(1);
  });
  test('declares the busiest segment of a copy', () => {
    const index = { ...tenSeconds, size: tenSeconds.size.map((size, frame) => (frame < 188 ? size * 2 : size)) };
    expect(plan({}, index, { videoBoundaries })).toMatchObject({ bandwidth: 261_998 });
  });
  test('skips priming and keeps up to 2 ms of it', () => {
    const index = steadyIndex(480, 1024, 1, { start: -2112 });
    expect(plan({}, index, { videoBoundaries })).toMatchObject({ mode: 'copy', sourceOrigin: 0 });
    const off = steadyIndex(480, 1024, 1, { start: -512 });
    expect(plan({}, off, { videoBoundaries }).mode).toBe('encode');
  });
  test('bears the milliseconds of Matroska', () => {
    const timeBase = { num: 1, den: 1000 };
    const pts = tenSeconds.pts.map((time) => Math.round(time / 48));
    expect(plan({ timeBase }, { ...tenSeconds, pts }, { videoBoundaries }).mode).toBe('copy');
  });
  test('counts from the zero of the timeline', () => {
    const index = steadyIndex(470, 1920, 1, { start: 126_000 });
    const audio = { timeBase: { num: 1, den: 90_000 } };
    const zero = { num: 7, den: 5 };
    expect(plan(audio, index, { zero, videoBoundaries })).toMatchObject({ mode: 'copy', sourceOrigin: 126_000 });
    expect(plan(audio, index, { zero: { num: 13, den: 10 }, videoBoundaries }).mode).toBe('encode');
  });
  const hole = { ...tenSeconds, pts: tenSeconds.pts.map((time, frame) => (frame < 100 ? time : time + 1024)) };
  const drift = { ...tenSeconds, pts: tenSeconds.pts.map((time) => Math.round(time * 1.001)) };
  test.each<[string, Partial<AudioFacts>, StreamIndex, object]>([
    ['another codec', { codec: 'mp3' }, tenSeconds, {}],
    ['HE-AAC', { profile: 4 }, tenSeconds, {}],
    ['22.05 kHz', { sampleRate: 22_050 }, tenSeconds, {}],
    ['5.1', { channels: 6 }, tenSeconds, {}],
    ['a complex edit list', { simpleEditList: false }, tenSeconds, {}],
    ['960-sample frames', { audioSpecificConfig: 'EZQ=' }, tenSeconds, {}],
    ['an explicit SBR configuration', { audioSpecificConfig: 'KxGIAA==' }, tenSeconds, {}],
    ['other channels in the configuration', { audioSpecificConfig: 'EYg=' }, tenSeconds, {}],
    ['a gain', {}, tenSeconds, { gain: { gainDb: -3 } }],
    ['a hole', {}, hole, {}],
    ['drift', {}, drift, {}],
    ['a track that ends early', {}, steadyIndex(460, 1024, 1), {}],
  ])('encodes %s', (_, audio, index, changes) => {
    expect(plan(audio, index, { videoBoundaries, ...changes }).mode).toBe('encode');
  });
  test('encodes to 48 kHz stereo, or what fits better', () => {
    expect(plan({ codec: 'flac', sampleRate: 96_000, channels: 6 }, tenSeconds, { videoBoundaries })).toMatchObject({
      sampleRate: 48_000,
      channels: 2,
      bitRate: 128_000,
      bandwidth: 140_800,
      audioSpecificConfig: 'EZA=',
      sourceSampleRate: 96_000,
    });
    // 10 s x 44100 / 1024 = 430.66
    expect(plan({ codec: 'mp3', sampleRate: 44_100, channels: 1 }, tenSeconds, { videoBoundaries })).toMatchObject({
      sampleRate: 44_100,
      channels: 1,
      bitRate: 96_000,
      audioSpecificConfig: 'Egg=',
      boundaries: [0, 172, 345, 431],
    });
  });
  test('fills a short track up to the end of the video', () => {
    expect(plan({}, steadyIndex(100, 1024, 1), { videoBoundaries }).boundaries).toEqual([0, 188, 375, 469]);
  });
  test('an exact number of frames costs no further one', () => {
    expect(plan({ codec: 'flac' }, tenSeconds, { endSeconds: 1024 / 48_000 }).boundaries).toEqual([0, 1]);
    expect(plan({ codec: 'flac' }, tenSeconds, { endSeconds: (3 * 1024) / 48_000 + 1e-12 }).boundaries).toEqual([0, 3]);
  });
  test('carries the gain', () => {
    expect(plan({}, tenSeconds, { gain: { gainDb: -3.5 } }).gainDb).toBe(-3.5);
    // The loudness may be right and a peak too high all the same.
    const gain = { gainDb: 0, peakDb: -3 };
    expect(plan({}, tenSeconds, { gain })).toMatchObject({ mode: 'encode', ...gain });
    expect('gainDb' in plan({}, tenSeconds)).toBe(false);
  });
  test('cuts audio without video every 4 s', () => {
    // 4 s = 187.5, 8 s = 375 frames; 470 frames end at 10.0267 s
    expect(plan({}, tenSeconds, { endSeconds: 10.0266 }).boundaries).toEqual([0, 188, 375, 470]);
    expect(plan({ codec: 'mp3' }, tenSeconds, { endSeconds: 9.9 }).boundaries).toEqual([0, 188, 465]);
    expect(plan({ codec: 'mp3' }, tenSeconds, { endSeconds: 1 }).boundaries).toEqual([0, 47]);
  });
});
