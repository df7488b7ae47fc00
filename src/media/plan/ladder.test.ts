import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { videoFacts } from '../../../test/support/media/media-values.js';
import { avcLevel, displaySize, limitRungs, planLadder, scaleRenditions } from './ladder.js';

const ladder = (width: number, height: number, changes: Partial<Parameters<typeof planLadder>[0]> = {}) =>
  planLadder({
    frame: { width, height },
    frameRate: { num: 30, den: 1 },
    quality: 'plus',
    maxResolutionTier: '1080p',
    ...changes,
  });
const sizes = (...input: Parameters<typeof ladder>): string[] =>
  ladder(...input).map(({ name, width, height }) => `${name} ${width}x${height}`);

describe('planLadder', () => {
  test('has the rungs of each quality', () => {
    const plus = ['270p 480x270', '360p 640x360', '480p 854x480', '720p 1280x720', '1080p 1920x1080'];
    expect(sizes(1920, 1080)).toEqual(plus);
    expect(sizes(1920, 1080, { quality: 'basic' })).toEqual(plus.filter((rung) => !rung.startsWith('360p')));
    expect(ladder(1920, 1080, { quality: 'basic' }).map(({ encoder }) => encoder.maxRate)).toEqual([
      300_000, 900_000, 1_800_000, 3_500_000,
    ]);
    expect(ladder(1920, 1080).at(-1)).toEqual({
      name: '1080p',
      kind: 'encode',
      width: 1920,
      height: 1080,
      frameStep: 1,
      codecs: 'avc1.640028',
      bandwidth: 4_950_000,
      encoder: { preset: 'veryfast', crf: 21, maxRate: 4_500_000, level: 40 },
    });
    expect(ladder(640, 360, { quality: 'premium' }).at(-1)?.encoder).toEqual({
      preset: 'faster',
      crf: 19,
      maxRate: 900_000,
      level: 30,
    });
  });
  test('stores nothing above the tier', () => {
    expect(sizes(3840, 2160).at(-1)).toBe('1080p 1920x1080');
    expect(sizes(3840, 2160, { maxResolutionTier: '1440p' }).at(-1)).toBe('1440p 2560x1440');
    expect(sizes(4096, 2160, { maxResolutionTier: '2160p' }).at(-1)).toBe('2160p 3840x2024');
  });
  test('rotates the boxes for portrait', () => {
    expect(sizes(1080, 1920)).toEqual([
      '270p 270x480',
      '360p 360x640',
      '480p 480x854',
      '720p 720x1280',
      '1080p 1080x1920',
    ]);
  });
  test('keeps the aspect and never enlarges', () => {
    expect(sizes(640, 480)).toEqual(['270p 360x270', '360p 480x360', '480p 640x480']);
    expect(sizes(1280, 536)).toEqual(['270p 480x200', '360p 640x268', '480p 854x358', '720p 1280x536']);
    expect(sizes(321, 181)).toEqual(['270p 320x180']);
    expect(sizes(960, 540)).toEqual(['270p 480x270', '360p 640x360', '480p 854x480', '720p 960x540']);
  });
  test('names the small source of a basic asset 360p', () => {
    expect(sizes(640, 360, { quality: 'basic' })).toEqual(['270p 480x270', '360p 640x360']);
  });
  test.each([
    [60, 1, 1],
    [60_000, 1001, 1],
    [6001, 100, 1],
    [100, 1, 2],
    [120, 1, 2],
    [144, 1, 3],
    [240, 1, 4],
    [0, 1, 1],
  ])('of %i/%i frames a second keeps one of %#', (num, den, frameStep) => {
    expect(ladder(1280, 720, { frameRate: { num, den } }).map((rung) => rung.frameStep)).toEqual(
      ladder(1280, 720).map(() => frameStep),
    );
  });
  test('is sane for every frame', () => {
    const side = fc.integer({ min: 2, max: 8192 });
    fc.assert(
      fc.property(side, side, fc.constantFrom('basic', 'plus', 'premium'), (width, height, quality) => {
        const rungs = ladder(width, height, { quality: quality as 'basic' });
        expect(new Set(rungs.map(({ name }) => name)).size).toBe(rungs.length);
        rungs.forEach((rung, index) => {
          expect([rung.width % 2, rung.height % 2]).toEqual([0, 0]);
          expect(rung.width).toBeLessThanOrEqual(Math.max(width, 2));
          expect(rung.height).toBeLessThanOrEqual(Math.max(height, 2));
          expect(Math.max(rung.width, rung.height)).toBeLessThanOrEqual(1920);
          expect(Math.min(rung.width, rung.height)).toBeLessThanOrEqual(1080);
          if (index > 0) expect(rung.encoder.maxRate).toBeGreaterThan(rungs[index - 1]!.encoder.maxRate);
        });
      }),
    );
  });
});

test.each([
  [480, 270, 30, 21],
  [480, 270, 60, 30],
  [854, 480, 25, 30],
  [854, 480, 30, 31],
  [854, 480, 60, 31],
  [1280, 720, 30, 31],
  [1280, 720, 60, 32],
  [1920, 1080, 30, 40],
  [1920, 1080, 60, 42],
  [2560, 1440, 30, 50],
  [3840, 2160, 30, 51],
  [3840, 2160, 60, 52],
])('%i x %i at %i needs level %i', (width, height, rate, level) => {
  expect(avcLevel({ width, height }, rate)).toBe(level);
});

test('displaySize squares the pixels and rotates the frame', () => {
  const pal = { width: 720, height: 576, sampleAspect: { num: 64, den: 45 } };
  expect(displaySize(videoFacts(pal))).toEqual({ width: 1024, height: 576 });
  expect(displaySize(videoFacts({ ...pal, rotation: 90 }))).toEqual({ width: 576, height: 1024 });
  expect(displaySize(videoFacts({ rotation: 180 }))).toEqual({ width: 1280, height: 720 });
});

test('a better quality has no rung of a lower rate or with coarser frames', () => {
  const [basic, plus, premium] = (['basic', 'plus', 'premium'] as const).map((quality) =>
    ladder(3840, 2160, { quality, maxResolutionTier: '2160p' }),
  );
  const named = (rungs: typeof plus, name: string) => rungs!.find((rung) => rung.name === name)!;
  expect(plus!.map(({ name }) => name)).toEqual(premium!.map(({ name }) => name));
  for (const { name } of plus!) {
    const [lean, middle, best] = [basic, plus, premium].map((rungs) => named(rungs, name)?.encoder);
    expect(best!.maxRate).toBeGreaterThan(middle!.maxRate);
    expect(best!.crf).toBeLessThan(middle!.crf);
    if (!lean) continue;
    expect(middle!.maxRate).toBeGreaterThan(lean.maxRate);
    expect(middle!.crf).toBeLessThan(lean.crf);
  }
});

test.each(['1080p', '1440p', '2160p'] as const)('no rung is above the tier %s, whatever source and quality', (tier) => {
  const [long, short] = { '1080p': [1920, 1080], '1440p': [2560, 1440], '2160p': [3840, 2160] }[tier] as [
    number,
    number,
  ];
  const side = fc.integer({ min: 2, max: 16_384 });
  fc.assert(
    fc.property(side, side, fc.constantFrom('basic', 'plus', 'premium'), (width, height, quality) => {
      for (const rung of ladder(width, height, { quality: quality as 'basic', maxResolutionTier: tier })) {
        expect(Math.max(rung.width, rung.height)).toBeLessThanOrEqual(long);
        expect(Math.min(rung.width, rung.height)).toBeLessThanOrEqual(short);
        expect(Number.parseInt(rung.name, 10)).toBeLessThanOrEqual(short);
      }
    }),
  );
});

describe('scaleRenditions', () => {
  test('allows and promises a share of the rates of the table, and changes nothing else', () => {
    const table = ladder(1920, 1080);
    const fitted = scaleRenditions(table, 'plus', 0.5);
    expect(fitted.map(({ encoder }) => encoder?.maxRate)).toEqual([200_000, 350_000, 600_000, 1_200_000, 2_250_000]);
    expect(fitted.at(-1)).toEqual({
      ...table.at(-1),
      bandwidth: 2_475_000,
      encoder: { ...table.at(-1)!.encoder, maxRate: 2_250_000 },
    });
    expect(scaleRenditions(table, 'plus', 1)).toEqual(table);
  });
});

describe('limitRungs', () => {
  const below = ladder(1920, 1080, { quality: 'basic' }).slice(0, -1);

  test('lets every rung promise less than the one above it', () => {
    const limited = limitRungs(below, 1_100_000);
    expect(limited.map(({ encoder }) => encoder.maxRate)).toEqual([300_000, 562_499, 749_999]);
    expect(limited.map(({ bandwidth }) => bandwidth)).toEqual([330_000, 618_749, 824_999]);
  });
  test('leaves rungs alone that promise less anyway', () => {
    expect(limitRungs(below, 3_850_000)).toEqual(below);
  });
  test('never asks for less than a frame needs', () => {
    expect(limitRungs(below, 50_000).map(({ encoder }) => encoder.maxRate)).toEqual([100_000, 100_000, 100_000]);
  });
});
