import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { steadyIndex } from '../../../test/support/media/media-values.js';
import { KinoraError } from '../../lib/errors.js';
import type { SourceIndex, StreamIndex } from './source-index.js';
import { decodeSourceIndex, encodeSourceIndex } from './source-index-codec.js';

const packets = fc.array(
  fc.record({
    pts: fc.maxSafeInteger().map((value) => Math.trunc(value / 8) + 0),
    key: fc.integer({ min: 0, max: 1 }),
    size: fc.integer({ min: 0, max: 0xffff_ffff }),
    position: fc.integer({ min: -1, max: 2 ** 48 }),
  }),
  { maxLength: 40 },
);
const stream: fc.Arbitrary<StreamIndex> = fc
  .tuple(packets, fc.integer({ min: 1, max: 2 ** 40 }))
  .map(([rows, lastDuration]) => ({
    pts: Float64Array.from(rows, ({ pts }) => pts),
    key: Uint8Array.from(rows, ({ key }) => key),
    size: Uint32Array.from(rows, ({ size }) => size),
    position: Float64Array.from(rows, ({ position }) => position),
    lastDuration,
  }));
const sourceIndex: fc.Arbitrary<SourceIndex> = fc.record(
  { video: stream, audio: stream, discontinuous: fc.boolean() },
  { requiredKeys: ['discontinuous'] },
);

describe('the stored source index', () => {
  test('gives back every index', () => {
    fc.assert(
      fc.property(sourceIndex, (index) => {
        expect(decodeSourceIndex(encodeSourceIndex(index))).toEqual(index);
      }),
    );
  });

  test('has a fixed form', () => {
    const video = steadyIndex(3, 512, 2);
    // KIDX, version 1, video only; 3 packets, last 512; times 0 +512 +512; positions 0 +1000 +1000;
    // sizes; keys 101b
    expect(Buffer.from(encodeSourceIndex({ video, discontinuous: false })).toString('hex')).toBe(
      '4b494458' +
        '01' +
        '01' +
        '03' +
        '8004' +
        '00' +
        '8008' +
        '8008' +
        '00' +
        'd00f' +
        'd00f' +
        'e807e807e807' +
        '05',
    );
  });

  test('is small and quick for two hours of 30 frames a second', () => {
    const bytes = encodeSourceIndex({
      video: steadyIndex(216_000, 3000, 60, { sizeBytes: 20_000 }),
      discontinuous: false,
    });
    expect(bytes.length).toBeLessThan(216_000 * 9);
    expect(decodeSourceIndex(bytes).video?.pts.at(-1)).toBe(215_999 * 3000);
  });

  test('refuses every cut, another version and what follows', () => {
    const bytes = encodeSourceIndex({
      video: steadyIndex(20, 512, 5),
      audio: steadyIndex(9, 1024, 1),
      discontinuous: true,
    });
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeSourceIndex(bytes.subarray(0, length))).toThrow(KinoraError);
    }
    expect(() => decodeSourceIndex(Buffer.concat([bytes, Buffer.of(0)]))).toThrow(KinoraError);
    const newer = Uint8Array.from(bytes);
    newer[4] = 2;
    expect(() => decodeSourceIndex(newer)).toThrow(KinoraError);
  });

  test('refuses a count that would fill the memory', () => {
    expect(() => decodeSourceIndex(Buffer.from('4b4944580101ffffffffffff0f01', 'hex'))).toThrow(KinoraError);
  });
});
