import { describe, expect, test } from 'vitest';
import { readHevcSequence } from './hevc-sps.js';

/** Written by x265, 30 frames a second, with B-frames. */
const SEQUENCES = [
  ['42010101600000030090000003000003005aa006c201e1cde595912930bc05a808080820000003002000000303c1', 854, 480],
  ['42010101600000030090000003000003003ca00a080c1f3e595912930bc05a808080820000030002000003003c10', 320, 180],
] as const;

describe('a sequence parameter set of HEVC', () => {
  test.each(SEQUENCES)('%s', (hex, width, height) => {
    expect(readHevcSequence(Buffer.from(hex, 'hex'))).toEqual({
      width,
      height,
      chromaFormat: 1,
      bitDepth: 8,
      isInterlaced: false,
      hasSquarePixels: true,
      frameRate: { num: 30, den: 1 },
      reorderFrames: expect.any(Number),
    });
  });

  test('that is cut off or damaged is refused, or read as another one', () => {
    const whole = Buffer.from(SEQUENCES[0][0], 'hex');
    // The last bytes hold what follows the timing.
    for (let length = 0; length < whole.length - 1; length += 1)
      expect(readHevcSequence(whole.subarray(0, length)), String(length)).toBeUndefined();
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const damaged = Buffer.from(whole);
      damaged[bit >> 3]! ^= 0x80 >> (bit & 7);
      expect(() => readHevcSequence(damaged)).not.toThrow();
    }
    expect(readHevcSequence(Buffer.alloc(2000))).toBeUndefined();
  });
});
