import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findSpeech } from '#kinora/engine/speech/find-speech.js';
import { writeSpeechAudio } from '#kinora/engine/speech/speech-audio.js';
import { makeSpeech, waveFile } from '../support/media/spoken-audio.mjs';

const RATE = 16_000;
const directory = mkdtempSync(join(tmpdir(), 'find-speech-'));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
/** What the engine needs of a WAV file. */
const sourceOf = (bytes: Buffer) => {
  const path = join(directory, `${files++}.wav`);
  writeFileSync(path, bytes);
  const audio = {
    streamIndex: 0,
    formatName: 'wav',
    mode: 'encode',
    sourceTimeBase: { num: 1, den: RATE },
    sourceSampleRate: RATE,
    sourceOrigin: 0,
    sampleRate: 48_000,
    channels: 1,
    chunkSegments: 8,
    bitRate: 96_000,
    codecs: 'mp4a.40.2',
    bandwidth: 105_600,
    audioSpecificConfig: 'EYg=',
  } as const;
  return { source: { path, formatName: 'wav' }, audio };
};
const context = { progress: () => undefined };
const find = (source: ReturnType<typeof sourceOf>, startMs: number, endMs: number, more = false) =>
  findSpeech({ kind: 'find-speech', ...source, startMs, endMs, more }, context);
const expectNear = (found: number, wanted: number): void => expect(Math.abs(found - wanted)).toBeLessThanOrEqual(150);

/** Thirty seconds of a signal, -1 to 1. */
const signal = (sampleAt: (seconds: number) => number): Buffer => {
  const data = Buffer.alloc(30 * RATE * 2);
  for (let i = 0; i < 30 * RATE; i++) data.writeInt16LE(Math.round(sampleAt(i / RATE) * 32_767), i * 2);
  return waveFile(data);
};
let state = 1;
const noise = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 31 - 1;
};
let low = 0;
const brown = (): number => {
  low = 0.98 * low + 0.02 * noise();
  return 4 * low;
};
const tone = (hertz: number, seconds: number): number => Math.sin(2 * Math.PI * hertz * seconds);

describe('speech', () => {
  test.each([
    ['silence', () => 0],
    ['white noise', () => 0.3 * noise()],
    ['deep noise', () => 0.5 * brown()],
    ['hum', (seconds: number) => 0.3 * tone(50, seconds) + 0.1 * tone(150, seconds)],
    ['a chord', (seconds: number) => 0.15 * (tone(220, seconds) + tone(277.2, seconds) + tone(329.6, seconds))],
  ])('is not found in %s', async (_, sampleAt) => {
    expect(await find(sourceOf(signal(sampleAt)), 0, 30_000)).toEqual({ spans: [], nextMs: 30_000 });
  });

  test('is found where it is', async () => {
    const spoken = [
      { startSeconds: 2, endSeconds: 5 },
      { startSeconds: 40, endSeconds: 47 },
    ];
    const { spans, nextMs } = await find(sourceOf(makeSpeech(60, spoken)), 0, 60_000);
    expect(nextMs).toBe(60_000);
    expect(spans).toHaveLength(2);
    spoken.forEach(({ startSeconds, endSeconds }, at) => {
      expectNear(spans[at]!.startMs, startSeconds * 1000);
      expectNear(spans[at]!.endMs, endSeconds * 1000);
    });
  });

  test('that goes on where a part ends is left to the next part, which finds it as one', async () => {
    const source = sourceOf(makeSpeech(40, [{ startSeconds: 15, endSeconds: 25 }]));
    const first = await find(source, 0, 20_000, true);
    expect(first.spans).toEqual([]);
    expectNear(first.nextMs, 15_000);
    const second = await find(source, first.nextMs, 40_000);
    expect(second.spans).toHaveLength(1);
    expectNear(second.spans[0]!.startMs, 15_000);
    expectNear(second.spans[0]!.endMs, 25_000);
    // From its very beginning on it is not put off forever.
    const endless = await find(source, 15_000, 20_000, true);
    expect(endless.nextMs).toBe(20_000);
    expect(endless.spans).toHaveLength(1);
  });

  test('is packed into a file of the length that was asked for', () => {
    const source = sourceOf(makeSpeech(60, [{ startSeconds: 40, endSeconds: 43 }]));
    const outPath = join(directory, 'window.wav');
    const pieces = [
      { startMs: 1000, endMs: 2000, atMs: 0 },
      { startMs: 40_000, endMs: 43_000, atMs: 1300 },
    ];
    const { sizeBytes } = writeSpeechAudio({ kind: 'speech-audio', ...source, pieces, lengthMs: 4300, outPath });
    const bytes = readFileSync(outPath);
    expect([sizeBytes, bytes.length]).toEqual([44 + 4.3 * RATE * 2, 44 + 4.3 * RATE * 2]);
    const peakOf = (fromMs: number, untilMs: number): number => {
      let peak = 0;
      for (let i = (fromMs * RATE) / 1000; i < (untilMs * RATE) / 1000; i++)
        peak = Math.max(peak, Math.abs(bytes.readInt16LE(44 + i * 2)));
      return peak;
    };
    expect(peakOf(0, 1280)).toBeLessThan(50);
    for (let ms = 1300; ms < 4200; ms += 500) expect(peakOf(ms, ms + 500)).toBeGreaterThan(2000);
  });
});
