import { describe, expect, test } from 'vitest';
import { measureComplexity } from '#kinora/engine/analysis/complexity.js';
import type { RateSample } from '#kinora/media/plan/bitrate-scale.js';
import { bitrateScale, pickSamplePositions, SAMPLE_BOX } from '#kinora/media/plan/bitrate-scale.js';
import { fitInto } from '#kinora/media/plan/ladder.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { lumaErrors, psnr } from '../support/media/frame-error.js';
import { readLuma } from '../support/media/measure.js';
import { initOf, makeSegment, type PlannedSource, planFile } from '../support/media/video-run.js';

const QUALITIES = ['basic', 'plus', 'premium'] as const;

/** The second segment, three seconds, of the largest rung in every quality. */
const encodeAll = async (name: EncodedName) => {
  const path = await fixture(name);
  const original = readLuma(path);
  const results = [];
  for (const quality of QUALITIES) {
    const source = await planFile(path, { quality });
    const rung = source.video.renditions.at(-1)!;
    expect(rung).toMatchObject({ kind: 'encode', width: 320, height: 180 });
    const { bytes } = await makeSegment(source, rung, 1);
    const [start, end] = source.video.boundaries.slice(1);
    const seconds = (end! - start!) / source.video.timescale;
    const frames = readLuma([Buffer.from(initOf(source, rung)), bytes]);
    expect(frames).toHaveLength(90);
    results.push({
      psnr: psnr(lumaErrors(frames, original.slice(30))),
      rate: (bytes.length * 8) / seconds,
      promised: rung.bandwidth,
    });
  }
  return results as [(typeof results)[0], (typeof results)[0], (typeof results)[0]];
};

// Noise that no frame shares with another takes whatever it gets: a third more bytes make 0.1 dB of
// it.
describe.each([
  ['open-gop.mp4', 1],
  ['texture.mp4', 1],
  ['grain.mp4', 0.02],
] as const)('a rung of %s', (name, gainDb) => {
  test('is nearer to the source in a better quality and never above its rate', async () => {
    const [basic, plus, premium] = await encodeAll(name);
    expect(plus.psnr).toBeGreaterThan(basic.psnr + gainDb);
    expect(premium.psnr).toBeGreaterThan(plus.psnr + gainDb);
    for (const { rate, promised } of [basic, plus, premium]) expect(rate).toBeLessThanOrEqual(promised);
  });
});

const sample = async ({ path, video, index }: PlannedSource): Promise<readonly RateSample[]> => {
  const { formatName, streamIndex, timeBase, frameRate, filters } = video;
  const positions = pickSamplePositions(index.video!, formatName, timeBase);
  const { samples } = await measureComplexity({
    kind: 'complexity',
    source: { path, formatName },
    streamIndex,
    timeBase,
    positions,
    ...fitInto(video.renditions.at(-1)!, SAMPLE_BOX),
    frameRate,
    filters,
    encoder: { preset: 'veryfast', crf: 21 },
  });
  expect(samples).toHaveLength(positions.length);
  return samples;
};

test.each<EncodedName>([
  'h264-aac.mp4',
  'h264-fragmented.mp4',
  'h264-aac.ts',
  'h264-mp3.avi',
  'hevc-aac.mp4',
  'vp9-opus.webm',
  'av1-aac.mp4',
  'prores-pcm.mov',
  'mpeg2-ac3.ts',
  'interlaced-tff.ts',
  'portrait-90.mp4',
  'anamorphic.mp4',
  'odd-size-444.mp4',
  'hdr-pq.mp4',
  'vfr.mkv',
  'fps-120.mp4',
  'open-gop-hevc.mkv',
  'edit-list.mp4',
  'start-3600s.ts',
  'time-wrap.ts',
])('%s can be sampled: its frames are as hard as those of other files', async (name) => {
  const source = await planFile(await fixture(name), { quality: 'plus' });
  const samples = await sample(source);
  for (const { seconds, keyBytes, otherBytes } of samples) {
    expect(seconds).toBeGreaterThan(0.2);
    expect(seconds).toBeLessThan(1.2);
    // The plain ones need 2,500 bytes and 8,000 a second.
    expect(keyBytes).toBeGreaterThan(1000);
    expect(keyBytes).toBeLessThan(6000);
    expect(otherBytes / seconds).toBeGreaterThan(800);
    expect(otherBytes / seconds).toBeLessThan(30_000);
  }
  const again = await sample(source);
  samples.forEach(({ keyBytes, otherBytes }, place) => {
    expect(again[place]!.keyBytes / keyBytes).toBeCloseTo(1, 1);
    expect(again[place]!.otherBytes / otherBytes).toBeCloseTo(1, 1);
  });
});

test('grain needs all that the table allows', async () => {
  const samples = await sample(await planFile(await fixture('grain.mp4'), { quality: 'plus' }));
  expect(bitrateScale(samples, { width: 320, height: 180 })).toBe(1);
});
