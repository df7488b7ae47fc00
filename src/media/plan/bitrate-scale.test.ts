import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { steadyIndex, streamIndex } from '../../../test/support/media/media-values.js';
import { bitrateScale, pickSamplePositions, SAMPLE_BOX } from './bitrate-scale.js';

const MP4 = 'mov,mp4,m4a,3gp,3g2,mj2';
const TIME_BASE = { num: 1, den: 15_360 };
const places = (index: Parameters<typeof pickSamplePositions>[0], formatName = MP4): number[] =>
  pickSamplePositions(index, formatName, TIME_BASE).map(({ pts }) => pts / 15_360);

describe('pickSamplePositions', () => {
  test('spreads over a stream of constant rate', () => {
    // A minute with a key frame every 2 s: 15 spans of 4 s.
    expect(places(steadyIndex(1800, 512, 60))).toEqual([0, 20, 40]);
  });
  test('takes the place of the largest packets', () => {
    const index = steadyIndex(1800, 512, 60);
    index.size.fill(5000, 1500, 1530);
    expect(places(index)).toEqual([20, 40, 48]);
  });
  test('says where in the file they are where only that leads to them', () => {
    const index = steadyIndex(1800, 512, 60);
    expect(pickSamplePositions(index, 'mpegts', TIME_BASE)[1]).toEqual({ pts: 20 * 15_360, position: 600_000 });
    expect(pickSamplePositions(index, MP4, TIME_BASE)[1]).toEqual({ pts: 20 * 15_360 });
  });
  test('begins at key frames that are shown', () => {
    expect(places(steadyIndex(300, 512, 60, { start: -30 * 512 }))).toEqual([1, 5]);
    expect(places(steadyIndex(300, 512, 60, { start: -30 * 512 }), 'mpegts')).toEqual([-1, 3, 7]);
    expect(places(streamIndex({ pts: [0, 512, 1024], keys: [], lastDuration: 512 }))).toEqual([]);
    expect(places(streamIndex({ pts: [], lastDuration: 512 }))).toEqual([]);
  });
  test('is content with one key frame or one frame', () => {
    expect(places(steadyIndex(300, 512, 1000))).toEqual([0]);
    expect(places(streamIndex({ pts: [7680], lastDuration: 1 }))).toEqual([0.5]);
  });
  test('gives one to three key frames in order, whatever the stream', () => {
    const packet = fc.record({
      pts: fc.integer({ min: 0, max: 1e7 }),
      key: fc.boolean(),
      size: fc.integer({ min: 0, max: 1e6 }),
    });
    fc.assert(
      fc.property(fc.array(packet, { minLength: 1, maxLength: 60 }), (packets) => {
        const index = {
          pts: Float64Array.from(packets, ({ pts }) => pts),
          key: Uint8Array.from(packets, ({ key }, i) => Number(key || i === 0)),
          size: Uint32Array.from(packets, ({ size }) => size),
          position: new Float64Array(packets.length).fill(-1),
          lastDuration: 1,
        };
        const found = pickSamplePositions(index, MP4, TIME_BASE).map(({ pts }) => pts);
        expect(found.length).toBeGreaterThan(0);
        expect(found.length).toBeLessThanOrEqual(3);
        expect(found).toEqual([...found].sort((a, b) => a - b));
        const keys = packets.flatMap(({ pts }, i) => (index.key[i] === 1 ? [pts] : []));
        for (const pts of found) expect(keys).toContain(pts);
      }),
    );
  });
});

describe('bitrateScale', () => {
  /** A sample that needs this many kb/s in segments of 4 s, half of it for the key frame. */
  const sample = (kilobits: number) => ({
    seconds: 1,
    keyBytes: (kilobits * 125 * 4) / 2,
    otherBytes: (kilobits * 125) / 2,
  });

  test('is twice what the busiest sample needs of the rate that the table allows', () => {
    expect(bitrateScale([sample(140), sample(174), sample(70)], SAMPLE_BOX)).toBe(0.5);
    expect(bitrateScale([sample(176)], SAMPLE_BOX)).toBe(0.55);
  });
  test('counts one key frame for a segment, and the other frames for their time', () => {
    expect(bitrateScale([{ seconds: 0.5, keyBytes: 40_000, otherBytes: 5_000 }], SAMPLE_BOX)).toBe(0.5);
  });
  test('is at least 0.35 and never more than one', () => {
    expect(bitrateScale([sample(1)], SAMPLE_BOX)).toBe(0.35);
    expect(bitrateScale([sample(1), sample(10_000)], SAMPLE_BOX)).toBe(1);
  });
  test('expects less of fewer pixels', () => {
    // 700 kb/s x 0.25 ^ 0.85 = 215 kb/s
    expect(bitrateScale([sample(80)], { width: 320, height: 180 })).toBe(0.75);
  });
  test('is one without samples and for what is no number', () => {
    expect(bitrateScale([], SAMPLE_BOX)).toBe(1);
    expect(bitrateScale([{ seconds: 0, keyBytes: 0, otherBytes: 0 }], SAMPLE_BOX)).toBe(1);
    expect(bitrateScale([{ seconds: -1, keyBytes: 0, otherBytes: 5 }], SAMPLE_BOX)).toBe(1);
  });
});
