import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filterRange } from '#kinora/engine/video/filter-range.js';
import { FrameFilter } from '#kinora/engine/video/frame-filter.js';
import { readOverlayImage } from '#kinora/engine/video/overlay-image.js';
import { VideoReader } from '#kinora/engine/video/reader.js';
import { type OverlaySettings, placeOverlay } from '#kinora/media/overlay/geometry.js';
import type { OverlayPlacement } from '#kinora/media/plan/plan.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { writePng } from '../support/media/png.js';
import { planFile, withFolder } from '../support/media/video-run.js';

const WHITE = 235;
const LIMITS = { maxSide: 4096, maxWidth: 1920, maxHeight: 1080 };

interface Overlay {
  readonly bytes: Buffer;
  readonly settings: OverlaySettings;
}

interface Luma {
  readonly data: Buffer;
  readonly width: number;
  readonly height: number;
}

const white = (width: number, height: number): Buffer => writePng(width, height, () => [255, 255, 255, 255]);

/** The luma of the first frames, plain and with the overlays on them. */
const draw = (name: EncodedName, overlays: readonly Overlay[]): Promise<{ plain: Luma[]; laid: Luma[] }> =>
  withFolder(async (folder) => {
    const source = await planFile(await fixture(name));
    const { width, height } = source.video.renditions.at(-1)!;
    const overlayPaths: string[] = [];
    const placements: OverlayPlacement[] = overlays.map(({ bytes, settings }, input) => {
      const [path, outPath] = [join(folder, `image-${input}`), join(folder, `pixels-${input}`)];
      writeFileSync(path, bytes);
      const { natural, stored } = readOverlayImage({ kind: 'overlay-image', source: { path }, ...LIMITS, outPath });
      overlayPaths.push(outPath);
      return { assetId: 'a', input, ...placeOverlay(settings, natural, { width, height }), image: stored };
    });
    const read = (laid: boolean): Luma[] => {
      const reader = new VideoReader(
        { path: source.path, formatName: source.facts.formatName },
        source.video.streamIndex,
        1,
      );
      const frames: Luma[] = [];
      const filter = new FrameFilter(
        {
          filters: { ...source.video.filters, ...(laid && { overlays: placements }) },
          overlayPaths,
          crop: reader.crop,
          width,
          height,
          timeBase: source.facts.video!.timeBase,
          threads: 1,
        },
        (frame) => frames.push({ data: frame.toBuffer().subarray(0, width * height), width, height }),
      );
      try {
        const { num, den } = source.facts.video!.timeBase;
        // Between two flashes, whose white would hide a white overlay.
        const at = (seconds: number): number => reader.startPts + Math.round((seconds * den) / num);
        filterRange(reader, filter, { fromPts: at(0.4), untilPts: at(0.6), neighbours: false });
      } finally {
        filter.close();
        reader.close();
      }
      return frames;
    };
    return { plain: read(false), laid: read(true) };
  });

/** The rectangle of pixels that are brighter than both their plain value and the threshold. */
const boxOf = (plain: Luma, laid: Luma): { left: number; top: number; right: number; bottom: number } => {
  const box = { left: laid.width, top: laid.height, right: 0, bottom: 0 };
  laid.data.forEach((value, at) => {
    if (Math.abs(value - plain.data[at]!) < 20) return;
    const [x, y] = [at % laid.width, Math.floor(at / laid.width)];
    box.left = Math.min(box.left, x);
    box.top = Math.min(box.top, y);
    box.right = Math.max(box.right, x + 1);
    box.bottom = Math.max(box.bottom, y + 1);
  });
  return box;
};

const expectNear = (actual: number, expected: number): void =>
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(1);

describe('an overlay', () => {
  test.each([
    [
      'h264-aac.mp4',
      {
        width: '20%',
        horizontal_align: 'right',
        horizontal_margin: '5%',
        vertical_align: 'bottom',
        vertical_margin: '10%',
      },
    ],
    ['h264-aac.mp4', { width: '20%', height: '30%', horizontal_align: 'center', vertical_align: 'middle' }],
    ['portrait-90.mp4', { width: '40%', vertical_align: 'bottom' }],
    ['anamorphic.mp4', { height: '25%', horizontal_align: 'right' }],
  ] as const)('lies within a pixel of its place in %s: %j', async (name, settings) => {
    const { plain, laid } = await draw(name as EncodedName, [{ bytes: white(64, 36), settings }]);
    expect(laid.length).toBeGreaterThan(2);
    expect(laid.length).toBe(plain.length);
    const { width, height } = laid[0]!;
    const place = placeOverlay(settings, { width: 64, height: 36 }, { width, height });
    for (const [number, frame] of laid.entries()) {
      const box = boxOf(plain[number]!, frame);
      expectNear(box.left, place.left * width);
      expectNear(box.top, place.top * height);
      expectNear(box.right, (place.left + place.width) * width);
      expectNear(box.bottom, (place.top + place.height) * height);
    }
  });

  test('mixes by its opacity and its own transparency, within two levels', async () => {
    const half = writePng(40, 40, () => [255, 255, 255, 128]);
    const settings = { width: '50%', height: '50%', opacity: '60%' };
    const { plain, laid } = await draw('h264-aac.mp4', [{ bytes: half, settings }]);
    const alpha = 0.6 * (128 / 255);
    const { width } = laid[0]!;
    for (const [x, y] of [
      [20, 60],
      [50, 70],
      [100, 40],
    ] as const) {
      const below = plain[0]!.data[y * width + x]!;
      const expected = below * (1 - alpha) + WHITE * alpha;
      expect(Math.abs(laid[0]!.data[y * width + x]! - expected)).toBeLessThanOrEqual(2);
    }
  });

  test('later ones lie on top', async () => {
    const black = writePng(8, 8, () => [0, 0, 0, 255]);
    const settings = { width: '30%', height: '30%' };
    const { laid } = await draw('h264-aac.mp4', [
      { bytes: white(8, 8), settings },
      { bytes: black, settings: { ...settings, width: '15%' } },
    ]);
    const { width, data } = laid[0]!;
    expect(data[20 * width + 10]).toBeLessThan(20);
    expect(data[20 * width + Math.round(0.25 * width)]).toBeGreaterThan(230);
  });

  test('may hang over the edge, however large it is', async () => {
    const settings = {
      width: '100000px',
      height: '100000px',
      horizontal_margin: '-50000px',
      vertical_margin: '-50000px',
    };
    const { laid } = await draw('h264-aac.mp4', [{ bytes: white(64, 64), settings }]);
    expect(Math.min(...laid[0]!.data)).toBeGreaterThan(230);
  });
});

test('what is no image, or too large, is refused before it is decoded', () =>
  withFolder((folder) => {
    const path = join(folder, 'image');
    const read = (bytes: Buffer) => {
      writeFileSync(path, bytes);
      return readOverlayImage({ kind: 'overlay-image', source: { path }, ...LIMITS, outPath: join(folder, 'out') });
    };
    const large = writePng(1, 1, () => [0, 0, 0, 0]);
    large.writeUInt32BE(4097, 16);
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('no image at all, but long enough'),
      large,
      white(64, 64).subarray(0, 60),
    ])
      expect(() => read(bytes)).toThrow(expect.objectContaining({ code: 'media_failed' }));
    expect(read(white(4096, 2))).toEqual({ natural: { width: 4096, height: 2 }, stored: { width: 4096, height: 2 } });
  }));
