import { describe, expect, test } from 'vitest';
import { listTiles } from '#kinora/media/image/storyboard.js';
import { readAnimatedWebp } from '../support/media/animated-webp.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { makeAnimation, makeSpriteSheet, makeThumbnail, storyboardOf } from '../support/media/image-run.js';
import { counterOf, type RgbFrame, readRgbFrames } from '../support/media/measure.js';
import { readSourceTruth, type SourceTruth } from '../support/media/source-truth.js';
import { type PlannedSource, planFile } from '../support/media/video-run.js';

const load = async (name: EncodedName): Promise<{ source: PlannedSource; truth: SourceTruth }> => ({
  source: await planFile(await fixture(name)),
  truth: await readSourceTruth(name),
});

/** What is shown at a moment: the last frame that began. */
const displayedAt = ({ frames }: SourceTruth, seconds: number): number =>
  (frames.findLast((image) => image.seconds <= seconds + 1e-4) ?? frames[0]!).counter;

const image = (bytes: Buffer): RgbFrame => readRgbFrames([bytes])[0]!;
const sizeOf = ({ width, height }: RgbFrame): string => `${width}x${height}`;

/** Mean difference of the samples of two frames, 0 to 255. */
const difference = (a: RgbFrame, b: RgbFrame): number => {
  expect(sizeOf(a)).toBe(sizeOf(b));
  let sum = 0;
  for (let at = 0; at < a.rgb.length; at++) sum += Math.abs(a.rgb[at]! - b.rgb[at]!);
  return sum / a.rgb.length;
};

const crop = (from: RgbFrame, left: number, top: number, width: number, height: number): RgbFrame => {
  const rgb = Buffer.concat(
    Array.from({ length: height }, (_, y) => {
      const start = ((top + y) * from.width + left) * 3;
      return from.rgb.subarray(start, start + width * 3);
    }),
  );
  return { width, height, rgb, ptsSeconds: 0 };
};

/** The frame at `place` of the result is the one at `placeOf(place)` of `from`. */
const rearrange = (
  from: RgbFrame,
  [width, height]: readonly [number, number],
  placeOf: (x: number, y: number) => readonly [number, number],
): RgbFrame => {
  const rgb = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [fromX, fromY] = placeOf(x, y);
      from.rgb.copy(rgb, (y * width + x) * 3, (fromY * from.width + fromX) * 3, (fromY * from.width + fromX) * 3 + 3);
    }
  }
  return { width, height, rgb, ptsSeconds: 0 };
};

describe('the frame shown at a moment, upright and in shape', () => {
  const sizes: readonly (readonly [EncodedName, string])[] = [
    ['h264-aac.mp4', '320x180'],
    ['hevc-aac.mp4', '320x180'],
    ['vp9-opus.webm', '320x180'],
    ['av1-aac.mp4', '320x180'],
    ['prores-pcm.mov', '320x180'],
    ['mpeg2-ac3.ts', '320x180'],
    ['mpeg4-b-frames.avi', '320x180'],
    ['portrait-90.mp4', '180x320'],
    ['portrait-270.mov', '180x320'],
    ['rotated-180.mp4', '320x180'],
    ['anamorphic.mp4', '320x180'],
    ['anamorphic-pal.ts', '512x288'],
    ['odd-size.webm', '320x180'],
    ['odd-size-444.mp4', '320x180'],
    ['interlaced-tff.ts', '320x180'],
    ['interlaced-mpeg2.ts', '320x180'],
    ['ten-bit.mp4', '320x180'],
    ['h264-ten-bit.mkv', '320x180'],
    ['hdr-pq.mp4', '320x180'],
    ['hdr-hlg.mp4', '320x180'],
    ['vfr.mkv', '320x180'],
    ['fps-120.mp4', '320x180'],
    ['open-gop.mp4', '320x180'],
    ['open-gop-hevc.mkv', '320x180'],
    ['edit-list.mp4', '320x180'],
    ['video-late.mp4', '320x180'],
    ['audio-longer.mp4', '320x180'],
    ['start-3600s.ts', '320x180'],
    ['time-wrap.ts', '320x180'],
  ];
  test.each(sizes)('%s', async (name, size) => {
    const { source, truth } = await load(name);
    const { durationSeconds } = source.plan;
    const inBetween = truth.frames[Math.floor(truth.frames.length / 3)]!;
    const times = [
      0,
      inBetween.seconds,
      // Just before the next one.
      inBetween.seconds + truth.frameSeconds * 0.4,
      2.001,
      durationSeconds + 1000,
    ];
    const wanted = times.map((time) => displayedAt(truth, time));
    const made = times.map((time) => image(makeThumbnail(source, { time }, 'jpg')));
    expect(made.map(counterOf)).toEqual(wanted);
    expect(made.map(sizeOf)).toEqual(made.map(() => size));
    // Without a time: the middle.
    expect(counterOf(image(makeThumbnail(source, {}, 'jpg')))).toBe(displayedAt(truth, durationSeconds / 2));
  });

  test('is the last one of a test asset after ten seconds', async () => {
    const source = await planFile(await fixture('long.mp4'), { isTest: true });
    expect(counterOf(image(makeThumbnail(source, { time: 15 })))).toBe(299);
  });
});

describe('fitting', () => {
  const modes: readonly (readonly [Record<string, string | number>, string])[] = [
    [{ width: 100, height: 100 }, '100x56'],
    [{ width: 160 }, '160x90'],
    [{ height: 45, fit_mode: 'pad' }, '80x45'],
    [{ width: 640, height: 480 }, '640x360'],
    [{ width: 101, height: 57, fit_mode: 'stretch' }, '101x57'],
    [{ width: 99, height: 101, fit_mode: 'crop' }, '99x101'],
    [{ width: 99, height: 101, fit_mode: 'smartcrop' }, '99x101'],
    [{ width: 99, height: 101, fit_mode: 'pad' }, '99x101'],
    [{ width: 333, height: 111, fit_mode: 'crop', rotate: 90 }, '111x333'],
    [{ width: 1, height: 1 }, '1x1'],
    [{ width: 4096, height: 1, fit_mode: 'crop' }, '4096x1'],
    [{ width: 1, height: 4096, fit_mode: 'stretch' }, '1x4096'],
  ];
  test.each(modes)('%j is %s in every format', async (query, size) => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    for (const format of ['jpg', 'png', 'webp'] as const) {
      expect(sizeOf(image(makeThumbnail(source, { time: 1, ...query }, format))), format).toBe(size);
    }
  });

  test('a crop is the middle of the frame', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    const whole = image(makeThumbnail(source, { time: 1 }));
    const middle = image(makeThumbnail(source, { time: 1, width: 180, height: 180, fit_mode: 'crop' }));
    expect(difference(middle, crop(whole, 70, 0, 180, 180))).toBeLessThan(1);
    const flat = image(makeThumbnail(source, { time: 1, width: 320, height: 60, fit_mode: 'crop' }));
    expect(difference(flat, crop(whole, 0, 60, 320, 60))).toBeLessThan(1);
  });

  test('padding is black, around the whole frame', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    const whole = image(makeThumbnail(source, { time: 1, width: 160 }));
    for (const format of ['jpg', 'png', 'webp'] as const) {
      const padded = image(makeThumbnail(source, { time: 1, width: 160, height: 160, fit_mode: 'pad' }, format));
      expect(difference(crop(padded, 0, 35, 160, 90), whole)).toBeLessThan(format === 'png' ? 1 : 6);
      for (const top of [0, 128]) {
        const black = crop(padded, 0, top, 160, 32).rgb;
        expect(Math.max(...black), format).toBeLessThan(8);
      }
    }
  });

  test('a stretched frame is the whole one', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    const stretched = image(makeThumbnail(source, { time: 1, width: 200, height: 400, fit_mode: 'stretch' }));
    expect(counterOf(stretched)).toBe(30);
  });

  test('rotating comes before the flips', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    const upright = image(makeThumbnail(source, { time: 1 }));
    const [width, height] = [upright.width, upright.height];
    const rotated = image(makeThumbnail(source, { time: 1, rotate: 90 }));
    const clockwise = rearrange(upright, [height, width], (x, y) => [y, height - 1 - x]);
    expect(difference(rotated, clockwise)).toBe(0);
    const both = image(makeThumbnail(source, { time: 1, rotate: 90, flip_h: true }));
    expect(
      difference(
        both,
        rearrange(clockwise, [height, width], (x, y) => [height - 1 - x, y]),
      ),
    ).toBe(0);
    const back = image(makeThumbnail(source, { time: 1, rotate: 270, flip_v: 'true' }));
    const counterClockwise = rearrange(upright, [height, width], (x, y) => [width - 1 - y, x]);
    expect(
      difference(
        back,
        rearrange(counterClockwise, [height, width], (x, y) => [x, width - 1 - y]),
      ),
    ).toBe(0);
    const same = image(makeThumbnail(source, { time: 1, rotate: 180, flip_h: true, flip_v: true }));
    expect(difference(same, upright)).toBe(0);
  });
});

describe('colors', () => {
  test.each(['h264-aac.mp4', 'odd-size-444.mp4', 'copy-720p.mp4', 'ten-bit.mp4'] as const)(
    'of %s are those of the source in every format',
    async (name) => {
      const path = await fixture(name);
      const source = await planFile(path);
      const { width, height } = source.video.renditions.at(-1)!;
      // Samples of sources without a description mean what their size makes usual.
      const matrix = height >= 720 ? 'bt709' : 'smpte170m';
      const chain = `select=eq(n\\,30),setparams=colorspace=${matrix}:range=tv,scale=${width}:${height}:flags=bicubic`;
      const expected = readRgbFrames(path, chain)[0]!;
      for (const [format, limit] of [
        ['png', 3],
        ['jpg', 4],
        ['webp', 5],
      ] as const) {
        const made = image(makeThumbnail(source, { time: 1 }, format));
        expect(difference(made, expected), format).toBeLessThan(limit);
        const means = [0, 1, 2].map((channel) => meanOf(made, channel) - meanOf(expected, channel));
        for (const mean of means) expect(Math.abs(mean), `${format} ${means}`).toBeLessThan(2);
      }
    },
  );

  test.each(['hdr-pq.mp4', 'hdr-hlg.mp4'] as const)('of %s are near those of its SDR original', async (name) => {
    const original = image(makeThumbnail(await planFile(await fixture('h264-aac.mp4')), { time: 1.5 }));
    for (const format of ['jpg', 'png', 'webp'] as const) {
      const made = image(makeThumbnail(await planFile(await fixture(name)), { time: 1.5 }, format));
      for (const channel of [0, 1, 2]) {
        expect(Math.abs(meanOf(made, channel) - meanOf(original, channel)), `${format} ${channel}`).toBeLessThan(18);
      }
    }
  });
});

const meanOf = ({ rgb, width, height }: RgbFrame, channel: number): number => {
  let sum = 0;
  for (let at = channel; at < rgb.length; at += 3) sum += rgb[at]!;
  return sum / (width * height);
};

describe('animations', () => {
  test.each(['h264-aac.mp4', 'portrait-90.mp4', 'vfr.mkv', 'interlaced-tff.ts', 'fps-25.mp4'] as const)(
    'of %s show the right frame in each frame',
    async (name) => {
      const { source, truth } = await load(name);
      for (const [start, end, fps] of [
        [0.5, 1.5, 15],
        [2.2, 2.9, 30],
        [1, 3, 4],
      ] as const) {
        const frames = readRgbFrames([makeAnimation(source, { start, end, fps })]);
        const times = Array.from(
          { length: Math.ceil((end - start) * fps - 1e-6) },
          (_, number) => start + number / fps,
        );
        expect(frames.map(counterOf)).toEqual(times.map((time) => displayedAt(truth, time)));
        // Whole hundredths of a second.
        for (const [number, { ptsSeconds }] of frames.entries()) {
          expect(Math.abs(ptsSeconds - number / fps)).toBeLessThan(0.011);
        }
      }
    },
  );

  test('end with the asset; the last frame stays while the audio goes on', async () => {
    const { source, truth } = await load('audio-longer.mp4');
    const frames = readRgbFrames([makeAnimation(source, { start: 3.5, end: 20, fps: 10 })]);
    const last = truth.frames.at(-1)!.counter;
    expect(frames.length).toBe(Math.ceil((source.plan.durationSeconds - 3.5) * 10));
    expect(frames.map(counterOf).slice(5)).toEqual(frames.slice(5).map(() => last));
    expect(counterOf(frames[0]!)).toBe(displayedAt(truth, 3.5));
  });

  test('have the size that was asked for', async () => {
    const landscape = await planFile(await fixture('h264-aac.mp4'));
    const portrait = await planFile(await fixture('portrait-90.mp4'));
    const sizeWith = (source: PlannedSource, query: Record<string, number>): string =>
      sizeOf(readRgbFrames([makeAnimation(source, { end: 0.5, fps: 4, ...query })])[0]!);
    expect(sizeWith(landscape, {})).toBe('320x180');
    expect(sizeWith(landscape, { width: 101 })).toBe('101x56');
    expect(sizeWith(landscape, { height: 99 })).toBe('176x99');
    expect(sizeWith(landscape, { width: 640, height: 100 })).toBe('177x100');
    expect(sizeWith(portrait, {})).toBe('320x568');
  });

  test('as WebP: every frame in time, for ever', async () => {
    const { source, truth } = await load('h264-aac.mp4');
    const { size, loops, frames } = readAnimatedWebp(makeAnimation(source, { start: 1, end: 3, fps: 10 }, 'webp'));
    expect([size, loops]).toEqual(['320x180', 0]);
    const total = frames.reduce((sum, { durationMs }) => sum + durationMs, 0);
    expect(Math.abs(total - 2000)).toBeLessThan(3);
    expect(frames.length).toBe(20);
    expect(counterOf(image(frames[0]!.file))).toBe(displayedAt(truth, 1));
  });

  test('as GIF repeat for ever', async () => {
    const bytes = makeAnimation(await planFile(await fixture('h264-aac.mp4')), { end: 1 });
    const at = bytes.indexOf('NETSCAPE2.0');
    expect(at).toBeGreaterThan(0);
    expect(bytes.readUInt16LE(at + 13)).toBe(0);
    // Delays in hundredths of a second, of all frames together.
    let delay = 0;
    for (let place = bytes.indexOf(GRAPHIC_CONTROL); place !== -1; place = bytes.indexOf(GRAPHIC_CONTROL, place + 1)) {
      // Compressed data may hold the same three bytes, but not this end and a frame behind it.
      if (bytes[place + 7] === 0 && bytes[place + 8] === IMAGE_DESCRIPTOR) delay += bytes.readUInt16LE(place + 4);
    }
    expect(Math.abs(delay - 100)).toBeLessThan(3);
  });
});

const GRAPHIC_CONTROL = Buffer.from([0x21, 0xf9, 0x04]);
const IMAGE_DESCRIPTOR = 0x2c;

describe('storyboards', () => {
  test.each(['h264-aac.mp4', 'portrait-90.mp4', 'vfr.mp4', 'interlaced-tff.ts', 'long.mp4', 'hdr-pq.mp4'] as const)(
    'of %s show the frame of each tile',
    async (name) => {
      const { source, truth } = await load(name);
      const storyboard = storyboardOf(source);
      const sheet = image(makeSpriteSheet(source, {}, 'jpg'));
      const tiles = listTiles(storyboard);
      expect(tiles.length).toBe(50);
      const { width, height } = storyboard.tile;
      expect(sizeOf(sheet)).toBe(`${width * 5}x${height * 10}`);
      const counters = tiles.map(({ x, y }) => counterOf(crop(sheet, x, y, width, height)));
      expect(counters).toEqual(tiles.map(({ start }) => displayedAt(truth, start)));
    },
  );

  test('of a window, in every format, with black where there is no tile', async () => {
    const { source, truth } = await load('h264-aac.mp4');
    const window = { asset_start_time: '2', asset_end_time: 2.4 };
    const storyboard = storyboardOf(source, window);
    // 0.4 s hold twelve or thirteen frames.
    expect([12, 13]).toContain(storyboard.tiles);
    for (const format of ['jpg', 'png', 'webp'] as const) {
      const sheet = image(makeSpriteSheet(source, window, format));
      expect(sizeOf(sheet)).toBe('1280x432');
      const counters = listTiles(storyboard).map(({ x, y }) => counterOf(crop(sheet, x, y, 256, 144)));
      expect(counters).toEqual(listTiles(storyboard).map(({ start }) => displayedAt(truth, 2 + start)));
      expect(Math.max(...crop(sheet, 1040, 304, 240, 128).rgb), format).toBeLessThan(8);
    }
  });

  test('of a longer asset come near enough', async () => {
    const source = await planFile(await fixture('longer.mp4'));
    const storyboard = storyboardOf(source);
    const sheet = image(makeSpriteSheet(source, {}, 'jpg'));
    const { width, height } = storyboard.tile;
    const apart = source.plan.durationSeconds / storyboard.tiles;
    for (const { x, y, start } of listTiles(storyboard)) {
      const counter = counterOf(crop(sheet, x, y, width, height))!;
      const late = start - counter / 30;
      expect(late, String(start)).toBeGreaterThan(-0.001);
      expect(late, String(start)).toBeLessThan(apart / 2 + 0.04);
    }
  });

  test('are equal when they are made again', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    expect(makeSpriteSheet(source, {}, 'jpg').equals(makeSpriteSheet(source, {}, 'jpg'))).toBe(true);
    expect(makeThumbnail(source, {}, 'webp').equals(makeThumbnail(source, {}, 'webp'))).toBe(true);
  });
});

test('test assets carry their mark in every image', async () => {
  const path = await fixture('h264-aac.mp4');
  const [plain, marked] = [await planFile(path), await planFile(path, { isTest: true })];
  const corner = (from: RgbFrame): RgbFrame => {
    const [width, height] = [Math.round(from.width / 6), Math.round(from.height / 8)];
    return crop(from, from.width - width, from.height - height, width, height);
  };
  const queries: Record<string, number>[] = [
    { time: 1 },
    { time: 1, width: 1000 },
    { time: 1, width: 300, height: 300 },
  ];
  for (const query of queries) {
    const [before, after] = [image(makeThumbnail(plain, query)), image(makeThumbnail(marked, query))];
    expect(difference(corner(after), corner(before)), JSON.stringify(query)).toBeGreaterThan(5);
  }
  const gifs = [plain, marked].map((source) => readRgbFrames([makeAnimation(source, { end: 0.5, fps: 4 })])[1]!);
  expect(difference(corner(gifs[0]!), corner(gifs[1]!))).toBeGreaterThan(5);
  const sheets = [plain, marked].map((source) => crop(image(makeSpriteSheet(source, {}, 'jpg')), 0, 0, 256, 144));
  expect(difference(corner(sheets[0]!), corner(sheets[1]!))).toBeGreaterThan(5);
});
