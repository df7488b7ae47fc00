import { describe, expect, test } from 'vitest';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { lumaErrors, psnr } from '../support/media/frame-error.js';
import { readLuma, readPackets } from '../support/media/measure.js';
import { initOf, makeSegments, type PlannedSource, planFile } from '../support/media/video-run.js';

/** The first eight seconds of the largest rung, three segments, as a file. */
const makeFirst = async (source: PlannedSource): Promise<Uint8Array[]> => {
  const rung = source.video.renditions.at(-1)!;
  return [Buffer.from(initOf(source, rung)), ...(await makeSegments(source, rung, [0, 1, 2]))];
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe.each<EncodedName>(['grain.mp4', 'texture.mp4'])('the rate of %s', (name) => {
  test('stays within what the rung promises over any two seconds, joins included', async () => {
    const source = await planFile(await fixture(name));
    const bytes = readPackets(await makeFirst(source)).map(({ sizeBytes }) => sizeBytes);
    const windows = bytes.slice(59).map((_, first) => (sum(bytes.slice(first, first + 60)) * 8) / 2);
    const promised = source.video.renditions.at(-1)!.bandwidth;
    expect(Math.max(...windows)).toBeLessThanOrEqual(promised);
    expect(Math.max(...windows)).toBeGreaterThan(0.6 * promised);
  });
});

// Its key frame takes about as many bytes as the other frames of a second together.
test('frames after a join are as good as the others where the rate limits them', async () => {
  const path = await fixture('texture.mp4');
  const errors = lumaErrors(readLuma(await makeFirst(await planFile(path))), readLuma(path));
  expect(errors).toHaveLength(240);
  const joins = [30, 120];
  const isAfterJoin = (frame: number): boolean => joins.some((join) => frame >= join && frame < join + 15);
  const afterJoin = psnr(errors.filter((_, frame) => isAfterJoin(frame)));
  const others = psnr(errors.filter((_, frame) => frame >= 15 && !isAfterJoin(frame)));
  expect(afterJoin).toBeGreaterThan(others - 0.5);
  // The rate buffer of the short first segment is shorter.
  expect(psnr(errors.slice(0, 15))).toBeGreaterThan(others - 2.5);
});
