/** HEVC and AV1 of a source beside its ladder: the very packets, frame by frame. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { verifyFragment } from '#kinora/media/mp4/fragment-verifier.js';
import { verifyVideoInit } from '#kinora/packager/verify-segment.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { probeFile as measureFile, readExactFrames } from '../support/media/measure.js';
import { initOf, makeSegment, planFile, segmentNumbers } from '../support/media/video-run.js';

const copied: readonly [EncodedName, RegExp, string][] = [
  ['hevc-aac.mp4', /^hvc1\.1\.6\.L\d+(\.[0-9A-F]+)*$/, '-hevc'],
  ['hevc-ac3.mkv', /^hvc1\.1\.6\.L\d+(\.[0-9A-F]+)*$/, '-hevc'],
  ['ten-bit.mp4', /^hvc1\.2\.4\.L\d+(\.[0-9A-F]+)*$/, '-hevc'],
  ['av1-aac.mp4', /^av01\.0\.\d\d[MH]\.(08|10)$/, '-av1'],
  ['av1-opus.webm', /^av01\.0\.\d\d[MH]\.(08|10)$/, '-av1'],
];

describe('an original has every frame once, in any order of segments', () => {
  test.each(copied)('%s', async (name, codecs, ending) => {
    const source = await planFile(await fixture(name), { quality: 'plus' });
    const { video } = source;
    const { original } = video;
    expect(video.copyDecision).toMatch(/, copied beside the ladder$/);
    expect(original!.codecs).toMatch(codecs);
    expect(original!.name).toBe(`${video.renditions.at(-1)!.name}${ending}`);
    const init = initOf(source, original!);
    verifyVideoInit(init, video, original!);
    const made: Buffer[] = [];
    for (const number of segmentNumbers(source).toReversed()) {
      const { bytes, sampleCount } = await makeSegment(source, original!, number);
      const start = video.boundaries[number]!;
      const durationTicks = video.boundaries[number + 1]! - start;
      const { reorderTicks } = original!;
      verifyFragment(bytes, {
        baseDecodeTicks: start,
        durationTicks,
        sampleCount,
        firstSync: true,
        ...(reorderTicks !== undefined && { reorderTicks }),
      });
      expect((bytes.length * 8 * video.timescale) / durationTicks).toBeLessThanOrEqual(original!.bandwidth);
      made[number] = bytes;
    }
    const shown = readExactFrames([init, ...made]);
    expect(shown.map(({ counter }) => counter)).toEqual(shown.map((_, index) => index));
    // Bit for bit those of the source.
    const expected = readExactFrames([readFileSync(source.path)]);
    expect(shown.map(({ digest }) => digest)).toEqual(expected.map(({ digest }) => digest));
    const { timeBase, originTicks, timescale } = video;
    const times = [...source.index.video!.pts].map((pts) => (pts * timeBase.num - originTicks) / timescale);
    times.sort((a, b) => a - b);
    for (const [frame, { ptsSeconds }] of shown.entries()) expect(ptsSeconds).toBeCloseTo(times[frame]!, 3);
    const alone = made.flatMap((bytes) => readExactFrames([init, bytes]));
    expect(alone.map(({ digest }) => digest)).toEqual(shown.map(({ digest }) => digest));
    const measured = measureFile([init, ...made]).streams[0]!;
    expect([measured.width, measured.height]).toEqual([original!.width, original!.height]);
  });
});

test.each<[EncodedName, string]>([
  ['open-gop-hevc.mkv', 'open GOPs'],
  ['vp9-opus.webm', ''],
])('%s has no original', async (name, reason) => {
  const { video } = await planFile(await fixture(name), { quality: 'plus' });
  expect(video.original).toBeUndefined();
  expect(video.copyDecision).toContain(reason);
});

test('HDR stays HDR', async () => {
  const source = await planFile(await fixture('hdr-pq.mp4'), { quality: 'plus' });
  const { original } = source.video;
  expect([source.video.copyDecision, original?.original.videoRange]).toEqual([
    'encoded: the codec is hevc, copied beside the ladder',
    'PQ',
  ]);
  const init = Buffer.from(initOf(source, original!));
  const colors = init.subarray(init.indexOf('nclx') + 4);
  expect([colors.readUInt16BE(0), colors.readUInt16BE(2), colors.readUInt16BE(4)]).toEqual([9, 16, 9]);
});
