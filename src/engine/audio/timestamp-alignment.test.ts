import { describe, expect, test } from 'vitest';
import { type AudioPiece, alignAudio } from './timestamp-alignment.js';

const RATE = 8000;
/** A slow sine, so that a value identifies its position. */
const valueAt = (sample: number): number => Math.sin((2 * Math.PI * 50 * sample) / RATE);

/**
 * Pieces of `length` samples at the true positions `start`, `start + length` …; `stamp` converts a
 * position to a time stamp.
 */
const pieces = (start: number, count: number, length: number, stamp: (place: number) => number): AudioPiece[] =>
  Array.from({ length: count }, (_, i) => {
    const place = start + i * length;
    return { position: stamp(place), channels: [Float32Array.from({ length }, (_, k) => valueAt(place + k))] };
  });

const exact = (place: number): number => place;
const inMilliseconds = (place: number): number => (Math.round((place * 1000) / RATE) * RATE) / 1000;

describe('alignAudio', () => {
  test('coarse time stamps do not move a sample, wherever reading begins', () => {
    const all = pieces(0, 400, 115, inMilliseconds);
    for (const skip of [0, 7, 120]) {
      const [samples] = alignAudio(all.slice(skip), 1, 20_000, 24_000, RATE, RATE / 1000);
      samples?.forEach((value, i) => {
        expect(value).toBeCloseTo(valueAt(20_000 + i), 6);
      });
    }
  });

  test('silence before, after and in holes', () => {
    const audio = [...pieces(1000, 10, 100, exact), ...pieces(3000, 10, 100, exact)];
    const [samples = new Float32Array()] = alignAudio(audio, 1, 0, 5000, RATE, 1);
    const isSilent = (from: number, until: number): boolean => samples.subarray(from, until).every((v) => v === 0);
    expect(isSilent(0, 1000) && isSilent(2000, 3000) && isSilent(4000, 5000)).toBe(true);
    expect(samples[1500]).toBeCloseTo(valueAt(1500), 6);
    expect(samples[3500]).toBeCloseTo(valueAt(3500), 6);
  });

  test('nothing is heard before zero', () => {
    const [samples = new Float32Array()] = alignAudio(pieces(-500, 20, 100, exact), 1, -300, 300, RATE, 1);
    expect(samples.subarray(0, 300).every((value) => value === 0)).toBe(true);
    expect(samples[310]).toBeCloseTo(valueAt(10), 6);
  });

  test('no pieces: silence in every channel', () => {
    expect(alignAudio([], 2, 0, 10, RATE, 1)).toEqual([new Float32Array(10), new Float32Array(10)]);
  });

  test('a drifting clock is stretched to its time stamps, equally from both sides of a cut', () => {
    const drift = 1.003;
    const all = pieces(0, 1000, 100, (place) => place * drift);
    const [whole = new Float32Array()] = alignAudio(all, 1, 0, 90_000, RATE, 1);
    for (const second of [2.5, 6.25, 9.75]) {
      const place = Math.round(second * RATE);
      expect(whole[place]).toBeCloseTo(valueAt(place / drift), 2);
    }
    const near = all.filter(({ position }) => position > 38_000 && position < 66_000);
    const [part = new Float32Array()] = alignAudio(near, 1, 50_000, 54_000, RATE, 1);
    part.forEach((value, i) => {
      expect(value).toBeCloseTo(whole[50_000 + i] as number, 5);
    });
  });
});
