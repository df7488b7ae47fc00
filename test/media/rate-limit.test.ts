import { expect, test } from 'vitest';
import { fixture } from '../support/fixtures.js';
import { readPackets } from '../support/measure.js';
import { initOf, makeSegment, type PlannedSource, planFile } from '../support/video-run.js';

/** Bytes of the frames of the first two segments, in decode order. */
const frameBytes = (source: PlannedSource): number[] => {
  const rung = source.video.renditions.at(-1)!;
  const segments = [0, 1].map((number) => makeSegment(source, rung, number).bytes);
  return readPackets([Buffer.from(initOf(source, rung)), ...segments]).map(({ sizeBytes }) => sizeBytes);
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test('two seconds of hard pictures anywhere, joins included, stay within what the rung promises', async () => {
  const source = await planFile(await fixture('grain.mp4'));
  const bytes = frameBytes(source);
  const windows = bytes.slice(59).map((_, first) => (sum(bytes.slice(first, first + 60)) * 8) / 2);
  const promised = source.video.renditions.at(-1)!.bandwidth;
  expect(Math.max(...windows)).toBeLessThanOrEqual(promised);
  expect(Math.max(...windows)).toBeGreaterThan(0.6 * promised);
}, 120_000);
