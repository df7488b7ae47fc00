import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { indexMatroska } from '#kinora/engine/analysis/index-matroska.js';
import { newPacket } from '#kinora/engine/ffmpeg/av.js';
import { openSource, readPacket } from '#kinora/engine/ffmpeg/open-source.js';
import { writeVideoSegment } from '#kinora/engine/video/segment.js';
import { type ByteRange, countBytes, mergeRanges } from '#kinora/lib/byte-ranges.js';
import { isKinoraError } from '#kinora/lib/errors.js';
import { findMatroskaLayout } from '#kinora/media/matroska/layout.js';
import { planAsset } from '#kinora/media/plan/plan-asset.js';
import { makesSameFiles } from '#kinora/media/plan/same-files.js';
import { neededRanges } from '#kinora/media/source/needed-ranges.js';
import type { SourceFacts } from '#kinora/media/source/source-facts.js';
import type { SourceIndex } from '#kinora/media/source/source-index.js';
import { decodeSourceIndex } from '#kinora/media/source/source-index-codec.js';
import { BLOCK_BYTES } from '#kinora/storage/blob-store.js';
import { type FixtureName, fixture } from '../support/media/fixtures.js';
import { withLyingCue, withUnknownCues } from '../support/media/lying-cues.js';
import {
  makeSegment,
  type PlannedSource,
  planFile,
  probeFile,
  segmentJob,
  withFolder,
} from '../support/media/video-run.js';

const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;
const BOUNDS = ['low', 'high'] as const;

const predict = (path: string, facts: SourceFacts, bound: 'low' | 'high'): Promise<SourceIndex | string> =>
  withFolder(async (folder) => {
    const outPath = join(folder, 'index');
    const { obstacle } = await indexMatroska({
      kind: 'predict-index',
      source: {
        path,
        formatName: facts.formatName,
        staged: { ranges: [{ start: 0, end: statSync(path).size }], version: 0 },
      },
      videoStreamIndex: facts.video!.streamIndex,
      ...(facts.audio[0] && { audioStreamIndex: facts.audio[0].streamIndex }),
      bound,
      outPath,
    });
    return obstacle ?? decodeSourceIndex(readFileSync(outPath));
  });
const predicted = async (path: string, facts: SourceFacts, bound: 'low' | 'high'): Promise<SourceIndex> => {
  const index = await predict(path, facts, bound);
  if (typeof index === 'string') throw new Error(index);
  return index;
};

describe.each<FixtureName>([
  'long-h264-aac.mkv',
  'long-29.97.mkv',
  'long-23.976-opus.mkv',
  'long-vp9-opus.webm',
  'h264-mp3.mkv',
  'vp9-opus.webm',
  'av1-opus.webm',
  'h264-flac.mkv',
  'h264-vorbis.mkv',
  'audio-late.mkv',
  'audio-hole.mkv',
  'fps-59.94.mkv',
  'odd-size.webm',
  'h264-ten-bit.mkv',
  'start-10s.mkv',
])('%s', (name) => {
  test('the index from its cues gives the times of all frames and the segments of the whole file', async () => {
    const { path, facts, index, plan } = await planFile(await fixture(name));
    for (const bound of BOUNDS) {
      const prediction = await predicted(path, facts, bound);
      expect([...prediction.video!.pts].toSorted((a, b) => a - b)).toEqual(
        [...index.video!.pts].toSorted((a, b) => a - b),
      );
      const early = planAsset({ facts, index: prediction, settings });
      expect(makesSameFiles(early, plan)).toBe(true);
      expect(early.video!.frameCounts).toEqual(plan.video!.frameCounts);
      expect(early.audio?.boundaries).toEqual(plan.audio?.boundaries);
    }
  });
});

// What is copied, and what renditions beside it may use, follows from the sizes of all frames.
test.each(['hevc-ac3.mkv', 'h264-ac3-5.1.mkv', 'h264-opus-5.1.mkv'] as const)(
  '%s: segments that depend on unknown sizes are noticed',
  async (name) => {
    const { path, facts } = await planFile(await fixture(name));
    const [low, high] = await Promise.all(
      BOUNDS.map(async (bound) => planAsset({ facts, index: await predicted(path, facts, bound), settings })),
    );
    expect(makesSameFiles(low!, high!)).toBe(false);
  },
);

test('a long file with B-frames is not transcoded for lack of an index', async () => {
  const facts = await probeFile(await fixture('long-29.97.mkv'));
  expect(facts.durationSeconds).toBeGreaterThan(40);
  expect(facts.video!.unseekable).toBeUndefined();
});

const MIDDLE = 6;
describe('an index is not predicted', () => {
  test.each([
    ['vfr.mkv', 'frames are missing, or displayed before the key frame that they follow'],
    ['open-gop-hevc.mkv', 'frames are missing, or displayed before the key frame that they follow'],
    ['without-cues.mkv', 'it has no cues'],
    ['below-zero.mkv', 'not every key frame has a cue'],
    ['truncated.mkv', 'its list of elements points to something else'],
  ] as const)('from %s', async (name, reason) => {
    const path = await fixture(name);
    expect(await predict(path, await probeFile(path), 'high')).toBe(reason);
  });

  test.each([
    [
      'a cue that points beyond the end',
      (bytes: Buffer) => withLyingCue(bytes, MIDDLE, 'position', () => bytes.length),
      'its cues are not in order or point beyond the file',
    ],
    [
      'a cue that points back',
      (bytes: Buffer) => withLyingCue(bytes, MIDDLE, 'position', () => 700),
      'its cues are not in order or point beyond the file',
    ],
    [
      'a cue between two frames',
      (bytes: Buffer) => withLyingCue(bytes, MIDDLE, 'time', (ticks) => ticks + 12),
      'its frames do not have the constant rate that it declares',
    ],
    [
      'a wrong second cue',
      (bytes: Buffer) => withLyingCue(bytes, 1, 'time', (ticks) => ticks + 100),
      'not every key frame has a cue',
    ],
    [
      'a wrong last cue',
      (bytes: Buffer) => withLyingCue(bytes, 11, 'time', (ticks) => ticks + 100),
      'its last cue is not its last key frame',
    ],
    ['a list that does not mention its cues', withUnknownCues, 'its list of elements points to something else'],
    [
      'its end cut off within the cues',
      async (bytes: Buffer) => bytes.subarray(0, bytes.length - 50),
      'its list of elements points to something else',
    ],
  ])('from %s', async (_title, change, reason) => {
    const original = await fixture('long-h264-aac.mkv');
    const facts = await probeFile(original);
    await withFolder(async (folder) => {
      const path = join(folder, 'changed.mkv');
      writeFileSync(path, await change(readFileSync(original)));
      expect(await predict(path, facts, 'high')).toBe(reason);
    });
  });
});

/** Audio of which every block lacks its first `strippedBytes` bytes, as its header says. */
const strippedAudio = (strippedBytes: number, blocks: number): Buffer => {
  const element = (id: string, ...content: (Buffer | string)[]): Buffer => {
    const parts = content.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part));
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    return Buffer.concat([Buffer.from(id + (0x10000000 + size).toString(16), 'hex'), ...parts]);
  };
  const compression = element('5034', element('4254', '03'), element('4255', Buffer.alloc(strippedBytes)));
  const track = element(
    'ae',
    ...[element('d7', '01'), element('73c5', '01'), element('83', '02'), element('86', Buffer.from('A_PCM/INT/LIT'))],
    element('e1', element('b5', '45fa0000'), element('9f', '01'), element('6264', '10')),
    element('6d80', element('6240', compression)),
  );
  const block = (number: number): Buffer => element('a3', '81', number.toString(16).padStart(4, '0'), '80', '0102');
  const numbers = Array.from({ length: blocks }, (_, number) => number);
  return Buffer.concat([
    element('1a45dfa3', element('4282', Buffer.from('matroska'))),
    element(
      '18538067',
      ...[element('1549a966', element('2ad7b1', '0f4240')), element('1654ae6b', track)],
      element('1f43b675', element('e7', '00'), ...numbers.map(block)),
    ),
  ]);
};

test('packets may be larger than their blocks and than the rest of the file', () =>
  withFolder((folder) => {
    const path = join(folder, 'stripped.mka');
    const bytes = strippedAudio(4096, 500);
    writeFileSync(path, bytes);
    const format = openSource({ path, staged: { ranges: [{ start: 0, end: bytes.length }], version: 0 } });
    try {
      using packet = newPacket();
      let packets = 0;
      for (; readPacket(format, packet) >= 0; packets += 1) {
        expect(packet.size).toBe(4098);
        packet.unref();
      }
      expect(packets).toBe(500);
    } finally {
      format.closeInputSync();
    }
  }));

const openingOf = async (path: string): Promise<readonly ByteRange[]> => {
  const bytes = readFileSync(path);
  const layout = await findMatroskaLayout(async (at, length) => bytes.subarray(at, at + length), bytes.length);
  if (typeof layout === 'string') throw new Error(layout);
  return [{ start: 0, end: 64 * 1024 }, ...layout.opening];
};

/** The ranges that are fetched for a segment, by the predicted index. */
const rangesOf = async (source: PlannedSource, segment: number): Promise<ByteRange[]> => {
  const { facts, path, video } = source;
  const index = await predicted(path, facts, 'high');
  const [from, until] = [segment, segment + 1].map(
    (at) => (video.boundaries[at]! + video.originTicks) / video.timescale,
  );
  const needed = neededRanges({ index, videoTimeBase: video.timeBase }, from!, until!, { video: true, audio: false });
  const blocks = [...(await openingOf(path)), ...needed].map(({ start, end }) => ({
    start: Math.floor(start / BLOCK_BYTES) * BLOCK_BYTES,
    end: Math.min(Math.ceil(end / BLOCK_BYTES) * BLOCK_BYTES, statSync(path).size),
  }));
  return mergeRanges(blocks);
};

const makeStaged = (source: PlannedSource, segment: number, staged: readonly ByteRange[]): Promise<Buffer> =>
  withFolder(async (folder) => {
    const bytes = readFileSync(source.path);
    const sparse = Buffer.alloc(bytes.length);
    for (const { start, end } of staged) bytes.copy(sparse, start, start, end);
    const path = join(folder, 'staged.mkv');
    writeFileSync(path, sparse);
    const job = segmentJob(source, source.video.renditions[0]!, segment, join(folder, 'segment'));
    await writeVideoSegment({ ...job, source: { ...job.source, path, staged: { ranges: staged, version: 0 } } });
    return readFileSync(job.outPath);
  });

describe.each<FixtureName>(['long-h264-aac.mkv', 'long-vp9-opus.webm'])('%s in parts', (name) => {
  test('a segment made from the ranges that its cues name is the one made from the whole file', async () => {
    const source = await planFile(await fixture(name));
    for (const segment of [0, 2, source.video.boundaries.length - 2]) {
      const ranges = await rangesOf(source, segment);
      expect(countBytes(ranges)).toBeLessThan(statSync(source.path).size / 2);
      const whole = (await makeSegment(source, source.video.renditions[0]!, segment)).bytes;
      expect((await makeStaged(source, segment, ranges)).equals(whole)).toBe(true);
    }
  });

  // The demuxer skips zeros until the next cluster.
  test('frames after a missing part are not taken for those in it', async () => {
    const source = await planFile(await fixture(name));
    const [needed, later] = await Promise.all([rangesOf(source, 2), rangesOf(source, 5)]);
    const [hole] = needed.filter(({ start }) => start > 0);
    const ranges = mergeRanges([
      ...needed.map((range) => (range === hole ? { ...range, end: (range.start + range.end) / 2 } : range)),
      ...later,
    ]);
    let thrown: unknown;
    try {
      await makeStaged(source, 2, ranges);
    } catch (error) {
      thrown = error;
    }
    expect(isKinoraError(thrown, 'range_missing')).toBe(true);
  });
});
