import { describe, expect, it } from 'vitest';
import { findPeakRate } from '#kinora/media/plan/ladder.js';
import { planAsset } from '#kinora/media/plan/plan-asset.js';
import { describeWarnings } from '#kinora/media/plan/source-warnings.js';
import { type FixtureName, fixture } from '../support/media/fixtures.js';
import { readAudio, readRgbFrames } from '../support/media/measure.js';
import { indexFile, initOf, makeSegment, planFile, probeFile } from '../support/media/video-run.js';

describe('the colors of a matrix', () => {
  /**
   * Pixels in the middle of the red, the green and the blue area, as they are decoded by the matrix
   * of the stream.
   */
  const colorsOf = async (name: FixtureName) => {
    const source = await planFile(await fixture(name));
    const isUsual = name === 'matrix-bt709.mp4' || name === 'matrix-bt2020nc.mp4';
    expect(source.video.copyDecision.includes('the color matrix')).toBe(!isUsual);
    const lowest = source.video.renditions[0]!;
    const { bytes } = await makeSegment(source, lowest, 0);
    const [frame] = readRgbFrames([initOf(source, lowest), bytes]);
    const { width, height, rgb } = frame!;
    return [100, 320, 540].map((x) => {
      const pixel = (Math.round((140 * height) / 360) * width + Math.round((x * width) / 640)) * 3;
      return [...rgb.subarray(pixel, pixel + 3)];
    });
  };
  const differences = (a: number[][], b: number[][]): number =>
    Math.max(...a.flatMap((pixel, area) => pixel.map((value, channel) => Math.abs(value - b[area]![channel]!))));

  it.each([
    ['matrix-ycgco.mp4', 'matrix-bt709.mp4', 6],
    ['matrix-derived.mp4', 'matrix-bt709.mp4', 6],
    // Chroma is subsampled in linear light.
    ['matrix-bt2020c.mp4', 'matrix-bt2020nc.mp4', 14],
  ] as const)('%s are those of %s', async (name, usual, tolerance) => {
    expect(differences(await colorsOf(name), await colorsOf(usual))).toBeLessThan(tolerance);
    const facts = await probeFile(await fixture(name));
    expect(describeWarnings(facts, (await planFile(await fixture(name))).plan)).toEqual([]);
  });

  it.each(['matrix-ictcp.mp4', 'matrix-smpte2085.mp4'] as const)(
    '%s, which nothing converts, are played as they are, with a warning',
    async (name) => {
      expect(await colorsOf(name)).toHaveLength(3);
      const { facts, plan } = await planFile(await fixture(name));
      const matrix = /-(.*)\./.exec(name)![1];
      expect(describeWarnings(facts, plan)).toMatchObject([
        { type: 'colors_changed', message: expect.stringContaining(`The color matrix ${matrix} of the video`) },
      ]);
    },
  );
});

describe('the rate of frames that come in bursts', () => {
  it('is the highest of any second, in the level and in the playlist', async () => {
    const source = await planFile(await fixture('bursts.mp4'));
    const { video } = source;
    expect(video.peakFrameRate).toBeGreaterThan(120);
    expect(video.frameRate.num / video.frameRate.den).toBeLessThan(60);
    // 480 x 270 has 510 macroblocks: the average needs level 2.1, the bursts need 3.1.
    expect(video.renditions[0]).toMatchObject({ height: 270, codecs: 'avc1.64001f', encoder: { level: 31 } });
    expect(video.frameCounts!.reduce((sum, count) => sum + count)).toBe(source.index.video!.pts.length);
  });

  it('is the constant rate where frames come at one', () => {
    const ticks = (count: number, step: number) => Float64Array.from({ length: count }, (_, frame) => frame * step);
    expect(findPeakRate(ticks(300, 512), 15_360)).toBe(30);
    expect(findPeakRate(ticks(300, 1001), 30_000)).toBe(29);
    expect(findPeakRate(ticks(1, 1), 1)).toBe(0);
  });
});

describe('audio that is shorter than a frame of AAC', () => {
  it.each(['short.aiff', 'short.mp3'] as const)('%s lasts one frame', async (name) => {
    const path = await fixture(name);
    const facts = await probeFile(path);
    const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;
    const plan = planAsset({ facts, index: indexFile(path, facts), settings });
    expect(plan.audio!.boundaries).toEqual([0, 1]);
  });
});

describe('priming that only a tag of iTunes states', () => {
  it('is left out', async () => {
    const path = await fixture('itunes-priming.m4a');
    const facts = await probeFile(path);
    const index = indexFile(path, facts);
    // 2112 samples: two packets and 64 samples of the third.
    expect([...index.audio!.pts.slice(0, 3)]).toEqual([2112, 3072, 4096]);
    const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;
    const plan = planAsset({ facts, index, settings });
    expect(plan.audio!.sourceOrigin).toBe(2112);
    // Of the same packets with an edit list, the first 1024 samples are priming.
    const whole = readAudio(await fixture('audio-only.m4a')).channels[0]!.length;
    expect(plan.durationSeconds * facts.audio[0]!.sampleRate).toBeLessThan(whole);
  });
});

describe('a still image that is marked as the default video', () => {
  it('gives way to the video that moves', async () => {
    const facts = await probeFile(await fixture('image-first.mkv'));
    expect(facts.video).toMatchObject({ streamIndex: 1, codec: 'h264' });
    expect(facts.otherVideo).toBeUndefined();
  });
});

describe('an encrypted file', () => {
  it('is refused as such', async () => {
    const facts = await probeFile(await fixture('encrypted.mp4'));
    expect(facts.refusal).toEqual([
      'The video is encrypted. Remove its DRM protection first.',
      'The audio is encrypted. Remove its DRM protection first.',
    ]);
  });
});
