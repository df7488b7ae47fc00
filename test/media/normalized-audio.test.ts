import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readSamples } from '#kinora/engine/audio/reader.js';
import { makeTestAudio } from '../support/media/test-audio.js';

const directory = mkdtempSync(join(tmpdir(), 'normalized-audio-'));
afterAll(() => rmSync(directory, { recursive: true }));

const path = join(directory, 'peaky.wav');
writeFileSync(path, makeTestAudio('peaky'));
const plan = {
  streamIndex: 0,
  formatName: 'wav',
  mode: 'encode',
  sourceTimeBase: { num: 1, den: 48_000 },
  sourceSampleRate: 48_000,
  sourceOrigin: 0,
  sampleRate: 48_000,
  channels: 2,
  chunkSegments: 8,
  bitRate: 128_000,
  codecs: 'mp4a.40.2',
  bandwidth: 140_800,
  audioSpecificConfig: 'EZA=',
} as const;
const read = (from: number, until: number, gainDb?: number) =>
  readSamples(
    { path },
    { ...plan, ...(gainDb !== undefined && { gainDb, peakDb: -3.5 }) },
    from,
    until,
  )[0] as Float32Array;
const largest = (samples: Float32Array): number => samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

test('peaks are turned down, and what is away from them is not touched', () => {
  const plain = read(0, 96_000);
  const limited = read(0, 96_000, 6);
  expect(largest(plain)).toBeGreaterThan(0.95);
  // The ceiling of -3.5 dBTP: between its samples the tone of the clicks is 3 dB higher than at
  // them.
  expect(largest(limited)).toBeLessThan(10 ** (-3.5 / 20));
  expect(largest(limited)).toBeGreaterThan(10 ** (-7.5 / 20));
  for (const [index, value] of limited.entries()) {
    const awaySeconds = Math.abs(((((index / 48_000) % 1) + 1) % 1) - 0.501);
    if (awaySeconds > 0.05) expect(Math.abs(value - (plain[index] as number) * 10 ** (6 / 20))).toBeLessThan(1e-6);
  }
});

test('what is made does not depend on where a chunk begins, not even within a peak', () => {
  const whole = read(0, 144_000, 9);
  for (const cut of [24_020, 72_000, 71_500, 120_001]) {
    const parts = [...read(0, cut, 9), ...read(cut, 144_000, 9)];
    const worst = parts.reduce((most, value, index) => Math.max(most, Math.abs(value - (whole[index] as number))), 0);
    expect(worst, `cut at ${cut}`).toBeLessThan(1e-6);
  }
});
