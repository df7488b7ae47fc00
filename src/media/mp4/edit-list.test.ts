import { describe, expect, test } from 'vitest';
import { applyEditList } from './edit-list.js';

const times = (composition: number[], duration: number) => ({
  composition: Float64Array.from(composition),
  duration: new Float64Array(composition.length).fill(duration),
});
const edit = (mediaTime: number, durationTicks: number, rate = 1) => ({ mediaTime, durationTicks, rate });

describe('applyEditList', () => {
  const frame = times([1024, 2560, 1536, 2048], 512);
  const audio = times([0, 1024, 2048, 3072, 4096], 1024);

  test('without edits keeps composition times', () => {
    expect(applyEditList(frame, [], 'vide', 15_360)).toEqual({
      count: 4,
      pts: Float64Array.of(1024, 2560, 1536, 2048),
      lastDuration: 512,
    });
  });
  test('shows the first frame at zero', () => {
    expect(applyEditList(frame, [edit(1024, 2048)], 'vide', 15_360)?.pts).toEqual(Float64Array.of(0, 1536, 512, 1024));
    // An edit that starts between two composition times also displays its first frame at zero.
    expect(applyEditList(frame, [edit(1000, 2500)], 'vide', 15_360)?.pts[0]).toBe(0);
  });
  test('delays by empty edits', () => {
    const edits = [edit(-1, 300), edit(-1, 200), edit(1024, 2048)];
    expect(applyEditList(frame, edits, 'vide', 15_360)?.pts).toEqual(Float64Array.of(500, 2036, 1012, 1524));
  });
  test('keeps priming audio at negative times', () => {
    expect(applyEditList(audio, [edit(2112, 3008)], 'soun', 48_000)?.pts).toEqual(
      Float64Array.of(-2112, -1088, -64, 960, 1984),
    );
  });
  test('drops audio after the edit', () => {
    expect(applyEditList(audio, [edit(1024, 2000)], 'soun', 48_000)).toEqual({
      count: 3,
      pts: Float64Array.of(-1024, 0, 1024),
      lastDuration: 1024,
    });
  });
  test.each([
    ['a frame before the edit', 'vide', [edit(1025, 9000)]],
    ['a frame after the edit', 'vide', [edit(1024, 1536)]],
    ['two edits', 'vide', [edit(1024, 512), edit(1536, 4000)]],
    ['another speed', 'vide', [edit(1024, 2048, 0.5)]],
    ['an open-ended edit', 'vide', [edit(1024, 0)]],
    ['an empty edit at the end', 'vide', [edit(1024, 2048), edit(-1, 100)]],
    ['more than a second of priming', 'soun', [edit(48_001, 9000)]],
  ] as const)('leaves %s to the demuxer', (_, handler, edits) => {
    expect(applyEditList(handler === 'vide' ? frame : audio, [...edits], handler, 48_000)).toBeUndefined();
  });
});
