import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { probe } from '#kinora/engine/analysis/probe.js';
import { writeVideoSegment } from '#kinora/engine/video/segment.js';
import { type ByteRange, countBytes, mergeRanges } from '#kinora/lib/byte-ranges.js';
import { isKinoraError } from '#kinora/lib/errors.js';
import { listBoxes } from '#kinora/media/mp4/box-reader.js';
import { planAsset } from '#kinora/media/plan/plan-asset.js';
import { neededRanges } from '#kinora/media/source/needed-ranges.js';
import { type FixtureName, fixture } from '../support/media/fixtures.js';
import { withMezzanine } from '../support/media/mezzanine-run.js';
import { makeSegment, type PlannedSource, planFile, segmentJob, withFolder } from '../support/media/video-run.js';

const HEAD_BYTES = 64 * 1024;

/** What a demuxer reads of an MP4 before its first packet. */
const openingRanges = (path: string): ByteRange[] => {
  const bytes = readFileSync(path);
  const moov = listBoxes(bytes)!.find(({ type }) => type === 'moov')!;
  return [
    { start: 0, end: HEAD_BYTES },
    { start: moov.content - 8, end: moov.end },
  ];
};

const rangesOf = ({ facts, index, video, path }: PlannedSource, segment: number): ByteRange[] => {
  const { boundaries, timescale, originTicks } = video;
  const [from, until] = [boundaries[segment]!, boundaries[segment + 1]!].map(
    (ticks) => (ticks + originTicks) / timescale,
  );
  const source = { index, videoTimeBase: facts.video!.timeBase, audioTimeBase: facts.audio[0]!.timeBase };
  return mergeRanges([...openingRanges(path), ...neededRanges(source, from!, until!, { video: true, audio: false })]);
};

/** A file of the same size that holds nothing but `ranges`. */
const copyRanges = (from: string, to: string, ranges: readonly ByteRange[]): void => {
  const bytes = readFileSync(from);
  const file = openSync(to, 'a+');
  closeSync(file);
  truncateSync(to, statSync(from).size);
  const target = openSync(to, 'r+');
  for (const { start, end } of ranges) writeSync(target, bytes, start, end - start, start);
  closeSync(target);
};

const makeStaged = async (
  source: PlannedSource,
  path: string,
  segment: number,
  ranges: readonly ByteRange[],
  version = 1,
): Promise<Buffer> => {
  const outPath = `${path}.segment`;
  const job = segmentJob(source, source.video.renditions[0]!, segment, outPath);
  await writeVideoSegment({ ...job, source: { ...job.source, path, staged: { ranges, version } } });
  return readFileSync(outPath);
};
const missingIn = (error: unknown): readonly ByteRange[] => {
  if (!isKinoraError(error, 'range_missing')) throw error;
  return (error.details as { missing: ByteRange[] }).missing;
};
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const thrownBy = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => undefined,
    (error: unknown) => error,
  );

describe.each<FixtureName>(['long-index-first.mp4', 'long-index-last.mov'])('%s', (name) => {
  test('every segment made from its ranges alone is the one made from the whole file', async () => {
    const source = await planFile(await fixture(name));
    const { size } = statSync(source.path);
    for (const segment of [0, 2, source.video.boundaries.length - 2]) {
      const ranges = rangesOf(source, segment);
      expect(countBytes(ranges)).toBeLessThan(size / 2);
      await withFolder(async (folder) => {
        const path = join(folder, 'staged');
        copyRanges(source.path, path, ranges);
        const whole = (await makeSegment(source, source.video.renditions[0]!, segment)).bytes;
        expect(digest(await makeStaged(source, path, segment, ranges))).toBe(digest(whole));
      });
    }
  });

  test('a job that needs what is not there names it and makes nothing', async () => {
    const source = await planFile(await fixture(name));
    const ranges = rangesOf(source, 0);
    await withFolder(async (folder) => {
      const path = join(folder, 'staged');
      copyRanges(source.path, path, ranges);
      const error = await thrownBy(makeStaged(source, path, 3, ranges));
      const [missing] = missingIn(error) as [ByteRange];
      expect(ranges.every(({ start, end }) => missing.end <= start || missing.start >= end)).toBe(true);
    });
  });
});

// The key frames are at different places of the file. Each report costs another run, in a process
// of its own.
test.each<FixtureName>(['long-index-first.mp4', 'long-index-last.mov'])(
  'the probe of %s names the key frames that are missing together',
  async (name) => {
    const original = await fixture(name);
    const firstFrames = { start: 0, end: Math.floor(statSync(original).size / 4) };
    const ranges = mergeRanges([...openingRanges(original), firstFrames]);
    await withFolder(async (folder) => {
      const path = join(folder, 'staged');
      copyRanges(original, path, ranges);
      const limits = { maxPixels: 1e6, maxStreams: 10 };
      const job = { kind: 'probe', source: { path, staged: { ranges, version: 1 } }, ...limits } as const;
      const error = await probe(job).catch((thrown: unknown) => thrown);
      const missing = missingIn(error).map(({ start, end }) => ({ start, end: end + 256 * 1024 }));
      expect(missing).toHaveLength(3);
      copyRanges(original, path, [...ranges, ...missing]);
      const staged = { ranges: mergeRanges([...ranges, ...missing]), version: 2 };
      expect(await probe({ ...job, source: { path, staged } })).toEqual(
        await probe({ ...job, source: { path: original } }),
      );
    });
  },
);

test('an open reader never reads what was put into the file after it was opened', async () => {
  const source = await planFile(await fixture('long-index-first.mp4'));
  const first = rangesOf(source, 1);
  await withFolder(async (folder) => {
    const path = join(folder, 'staged');
    copyRanges(source.path, path, first);
    await makeStaged(source, path, 1, first);
    // The same file now has all of its bytes, but the reader has kept some of the zeros that stood
    // there before.
    writeFileSync(path, readFileSync(source.path));
    const error = await thrownBy(makeStaged(source, path, 2, first));
    expect(missingIn(error)).not.toEqual([]);
    const second = mergeRanges([...first, ...rangesOf(source, 2)]);
    const whole = (await makeSegment(source, source.video.renditions[0]!, 2)).bytes;
    expect(digest(await makeStaged(source, path, 2, second))).toBe(digest(whole));
  });
});

test('a segment of a mezzanine is made from its own fragments and the index at the start', async () => {
  await withMezzanine(await fixture('long-index-first.mp4'), 3, async (made, source) => {
    const { width, height, timeBase } = made.facts.video!;
    const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;
    const mezzanine = { index: made.index.video!, width, height, timeBase };
    const plan = planAsset({ facts: source.facts, index: source.index, settings, mezzanine });
    const planned = { ...source, path: made.path, plan, video: plan.video! };
    const { size } = statSync(made.path);
    const fragments = made.results.flatMap((result) => result.fragments);
    let start = size - fragments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    // The demuxer reads the first fragment when it opens the file.
    const ranges: ByteRange[] = [{ start: 0, end: start + fragments[0]!.sizeBytes }];
    const segment = planned.video.boundaries.length - 3;
    const [from, until] = [planned.video.boundaries[segment]!, planned.video.boundaries[segment + 1]!];
    for (const { startTicks, endTicks, sizeBytes } of fragments) {
      const end = start + sizeBytes;
      // One second more: decoders read ahead.
      if (endTicks >= from && startTicks < until + timeBase.den / timeBase.num) ranges.push({ start, end });
      start = end;
    }
    expect(countBytes(mergeRanges(ranges))).toBeLessThan(size / 2);
    await withFolder(async (folder) => {
      const path = join(folder, 'staged');
      copyRanges(made.path, path, ranges);
      const whole = (await makeSegment(planned, planned.video.renditions[0]!, segment)).bytes;
      expect(digest(await makeStaged(planned, path, segment, mergeRanges(ranges)))).toBe(digest(whole));
    });
  });
});

test('an open reader is not used for another version of the file', async () => {
  const source = await planFile(await fixture('long-index-first.mp4'));
  const sizeOf = (at: number): number => index.video!.size[at]!;
  const both = mergeRanges([...rangesOf(source, 1), ...rangesOf(source, 2)]);
  const { index, facts, video } = source;
  const { num, den } = facts.video!.timeBase;
  const startTicks = ((video.boundaries[2]! + video.originTicks) / video.timescale) * (den / num);
  const keyFrame = index.video!.pts.indexOf(startTicks);
  const otherKeyFrame = index.video!.key.findIndex((key, at) => key === 1 && sizeOf(at) + 5 < sizeOf(keyFrame));
  await withFolder(async (folder) => {
    const path = join(folder, 'staged');
    copyRanges(source.path, path, both);
    // It has read on to the first frame of the next segment.
    await makeStaged(source, path, 1, both);
    const other = readFileSync(source.path);
    const [to, from] = [index.video!.position[keyFrame]!, index.video!.position[otherKeyFrame]!];
    const copied = sizeOf(otherKeyFrame);
    const rest = sizeOf(keyFrame) - copied;
    other.copy(other, to, from, from + copied);
    // Filler data up to the old size.
    other.writeUInt32BE(rest - 4, to + copied);
    other.fill(0xff, to + copied + 4, to + copied + rest);
    other[to + copied + 4] = 12;
    writeFileSync(path, other);
    const fresh = `${path}-fresh`;
    writeFileSync(fresh, other);
    const alone = digest(await makeStaged(source, fresh, 2, both));
    expect(digest(await makeStaged(source, path, 2, both, 2))).toBe(alone);
  });
});
