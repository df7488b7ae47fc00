import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AV_PIX_FMT_BGRA } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, Frame, Packet, Rational } from 'node-av/lib';
import { describe, expect, test } from 'vitest';
import { readOverlayImage } from '#kinora/engine/video/overlay-image.js';
import { readOverlayHeader } from '#kinora/media/overlay/file.js';
import { fixture } from '../support/media/fixtures.js';
import { makeAnimation, makeThumbnail } from '../support/media/image-run.js';
import { writeJpeg } from '../support/media/jpeg.js';
import { readRgbFrames } from '../support/media/measure.js';
import { type PngKind, writePng } from '../support/media/png.js';
import { planFile, withFolder } from '../support/media/video-run.js';

type Rgba = readonly [number, number, number, number];

/** Four quarters of 16 x 8 pixels. */
const [WIDTH, HEIGHT] = [32, 16];
const RED: Rgba = [255, 0, 0, 255];
const GREEN: Rgba = [0, 255, 0, 255];
const BLUE: Rgba = [0, 0, 255, 255];
const GLASS: Rgba = [250, 250, 250, 100];
const QUARTERS = [RED, GREEN, BLUE, GLASS] as const;
const quarterAt = (x: number, y: number): number => (x < WIDTH / 2 ? 0 : 1) + (y < HEIGHT / 2 ? 0 : 2);
const colorAt = (x: number, y: number): Rgba => QUARTERS[quarterAt(x, y)]!;
const opaque = (colors: readonly Rgba[]): Rgba[] => colors.map(([r, g, b]) => [r, g, b, 255]);

const read = (bytes: Buffer) =>
  withFolder((folder) => {
    const [path, outPath] = [join(folder, 'image'), join(folder, 'pixels')];
    writeFileSync(path, bytes);
    readOverlayImage({
      kind: 'overlay-image',
      source: { path },
      maxSide: 4096,
      maxWidth: 1920,
      maxHeight: 1080,
      outPath,
    });
    const file = readFileSync(outPath);
    const { natural, stored } = readOverlayHeader(file, file.length)!;
    const pixelAt = (x: number, y: number): Rgba => {
      const at = 16 + (y * stored.width + x) * 4;
      return [file[at]!, file[at + 1]!, file[at + 2]!, file[at + 3]!];
    };
    return { size: `${natural.width}x${natural.height}`, stored, pixelAt };
  });

/** The color in the middle of each quarter. */
const quartersOf = ({ stored: { width, height }, pixelAt }: ReturnType<typeof read>): Rgba[] =>
  [0, 1, 2, 3].map((quarter) =>
    pixelAt(Math.floor(width * (quarter % 2 === 0 ? 0.25 : 0.75)), Math.floor(height * (quarter < 2 ? 0.25 : 0.75))),
  );

const expectQuarters = (bytes: Buffer, expected: readonly Rgba[], tolerance = 0, size = `${WIDTH}x${HEIGHT}`) => {
  const image = read(bytes);
  expect(image.size).toBe(size);
  for (const [quarter, color] of quartersOf(image).entries()) {
    const off = Math.max(...color.map((value, channel) => Math.abs(value - expected[quarter]![channel]!)));
    expect(off, `quarter ${quarter} is ${color}, not ${expected[quarter]}`).toBeLessThanOrEqual(tolerance);
  }
};

/** A WebP file of the quarters. */
const writeWebp = (quality: 'lossless' | number, width = WIDTH, height = HEIGHT): Buffer => {
  const context = new CodecContext();
  context.allocContext3(Codec.findEncoderByName('libwebp' as never));
  Object.assign(context, { width, height, pixelFormat: AV_PIX_FMT_BGRA, timeBase: new Rational(1, 1) });
  context.setOption('lossless', quality === 'lossless' ? '1' : '0');
  if (quality !== 'lossless') context.setOption('quality', String(quality));
  FFmpegError.throwIfError(context.open2Sync(null, null), 'open');
  const [frame, packet] = [new Frame(), new Packet()];
  frame.alloc();
  packet.alloc();
  Object.assign(frame, { width, height, format: AV_PIX_FMT_BGRA, pts: 0n });
  frame.allocBuffer();
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [red, green, blue, alpha] = colorAt(x, y);
      frame.data![0]!.set([blue, green, red, alpha], y * frame.linesize[0]! + x * 4);
    }
  }
  context.sendFrameSync(frame);
  context.sendFrameSync(null);
  FFmpegError.throwIfError(context.receivePacketSync(packet), 'encode');
  const bytes = Buffer.from(packet.data!);
  packet.free();
  frame.free();
  context.freeContext();
  return bytes;
};

const riff = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
};
const uint24 = (value: number): Buffer => Buffer.from([value & 255, (value >> 8) & 255, value >> 16]);

/**
 * An animation on a canvas whose only frame is a still WebP file, `left` and `top` pixels from its
 * corner.
 */
const animate = (still: Buffer, canvas: readonly [number, number], left = 0, top = 0): Buffer => {
  const extended = still.toString('latin1', 12, 16) === 'VP8X';
  const sizes = [uint24(canvas[0] - 1), uint24(canvas[1] - 1)];
  const header = riff('VP8X', Buffer.concat([Buffer.from([0x12, 0, 0, 0]), ...sizes]));
  const place = [left / 2, top / 2, WIDTH - 1, HEIGHT - 1, 100].map(uint24);
  const frame = Buffer.concat([...place, Buffer.from([0]), still.subarray(extended ? 30 : 12)]);
  const body = [header, riff('ANIM', Buffer.alloc(6)), riff('ANMF', frame), riff('ANMF', frame)];
  return riff('RIFF', Buffer.concat([Buffer.from('WEBP', 'latin1'), ...body]));
};

describe('an overlay has the colors and the transparency of its file', () => {
  const grey = QUARTERS.map(([red]): Rgba => [red, red, red, 255]);
  const kinds: readonly (readonly [PngKind, readonly Rgba[]])[] = [
    [{ color: 'grey' }, grey],
    [{ color: 'grey-alpha' }, QUARTERS.map(([red, , , alpha]) => [red, red, red, alpha])],
    [{ color: 'rgb' }, opaque(QUARTERS)],
    [{ color: 'palette' }, QUARTERS],
    [{ color: 'rgba' }, QUARTERS],
  ];
  test.each(kinds)('PNG, %j', (kind, expected) => {
    for (const interlaced of [false, true]) {
      expectQuarters(writePng(WIDTH, HEIGHT, colorAt, { ...kind, interlaced }), expected);
      if (kind.color === 'palette') continue;
      expectQuarters(writePng(WIDTH, HEIGHT, colorAt, { ...kind, depth: 16, interlaced }), expected, 1);
    }
  });

  const blocks = { columns: WIDTH / 8, rows: HEIGHT / 8 };
  const quarterOfBlock = (column: number, row: number): number => quarterAt(column * 8, row * 8);
  // Y'CbCr of red, green, blue and a light gray.
  const YCC = [
    [76, 85, 255],
    [150, 44, 21],
    [29, 255, 107],
    [250, 128, 128],
  ] as const;
  test('JPEG: grey, color, CMYK and YCCK', () => {
    const of = (values: readonly (readonly number[])[], adobeTransform?: 0 | 2) =>
      writeJpeg({
        ...blocks,
        blockAt: (column, row) => values[quarterOfBlock(column, row)]!,
        ...(adobeTransform !== undefined && { adobeTransform }),
      });
    expectQuarters(of([[255], [0], [0], [250]]), grey, 1);
    expectQuarters(of(YCC), opaque(QUARTERS), 3);
    const cmyk = QUARTERS.map(([red, green, blue]) => [red, green, blue, 255]);
    expectQuarters(of(cmyk, 0), opaque(QUARTERS), 3);
    // Of the complement, which is what such files hold.
    const ycck = YCC.map(([y, cb, cr]) => [255 - y, 256 - cb, 256 - cr, 255].map((value) => Math.min(value, 255)));
    expectQuarters(of(ycck, 2), opaque(QUARTERS), 4);
  });

  test.each([
    [1, [0, 1, 2, 3]],
    [2, [1, 0, 3, 2]],
    [3, [3, 2, 1, 0]],
    [4, [2, 3, 0, 1]],
    [5, [0, 2, 1, 3]],
    [6, [2, 0, 3, 1]],
    [7, [3, 1, 2, 0]],
    [8, [1, 3, 0, 2]],
    // No orientation at all.
    [9, [0, 1, 2, 3]],
  ])('JPEG, upright where EXIF says orientation %d', (orientation, places) => {
    const blockAt = (column: number, row: number) => YCC[quarterOfBlock(column, row)]!;
    const isSideways = orientation >= 5 && orientation <= 8;
    expectQuarters(
      writeJpeg({ ...blocks, blockAt, orientation }),
      places.map((place) => opaque(QUARTERS)[place]!),
      3,
      isSideways ? '16x32' : '32x16',
    );
  });

  test('WebP: lossy, lossless, and the first frame of an animation', () => {
    const lossless = writeWebp('lossless');
    expectQuarters(lossless, QUARTERS);
    expectQuarters(writeWebp(100), QUARTERS, 6);
    expectQuarters(animate(lossless, [WIDTH, HEIGHT]), QUARTERS);
    expectQuarters(animate(writeWebp(100), [WIDTH, HEIGHT]), QUARTERS, 6);
    // The rest of the canvas is transparent.
    const part = read(animate(lossless, [WIDTH + 10, HEIGHT + 6], 10, 6));
    expect(part.size).toBe('42x22');
    expect([part.pixelAt(9, 10), part.pixelAt(20, 5)]).toEqual([
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ]);
    expect([part.pixelAt(10, 6), part.pixelAt(41, 21)]).toEqual([RED, GLASS]);
    expect(() => read(animate(lossless, [WIDTH, HEIGHT], 10, 6))).toThrow(
      expect.objectContaining({ code: 'media_failed' }),
    );
  });

  test('the first frame of what the product itself animates', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    const [still] = readRgbFrames([makeThumbnail(source, { time: 1 })]);
    for (const format of ['gif', 'webp'] as const) {
      const first = read(makeAnimation(source, { start: 1, end: 2, width: 320 }, format));
      expect(first.size).toBe('320x180');
      let sum = 0;
      for (let y = 0; y < 180; y += 3) {
        for (let x = 0; x < 320; x += 3) {
          for (const channel of [0, 1, 2])
            sum += Math.abs(first.pixelAt(x, y)[channel]! - still!.rgb[(y * 320 + x) * 3 + channel]!);
        }
      }
      expect(sum / (60 * 107 * 3), format).toBeLessThan(12);
    }
  });
});

describe('refused, without harm', () => {
  const refused = (bytes: Buffer) =>
    expect(() => read(bytes), bytes.toString('latin1', 0, 30)).toThrow(
      expect.objectContaining({ code: 'media_failed' }),
    );
  const jpeg = writeJpeg({ columns: 40, rows: 20, blockAt: (column, row) => [(column * 5) % 255, row * 9, 128] });
  const noise = (x: number, y: number): Rgba => [(x * 31 + y * 7) % 256, (x * y) % 256, (x * 3) % 256, 255];

  test('texts, other files, nothing', () => {
    for (const text of [
      '',
      'P',
      '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="9" height="9"/></svg>',
      '<!doctype html><title>Not Found</title><p>The image is not here any more.',
      '#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:9,\nfile:///etc/passwd\n',
      'concat:/etc/passwd|/etc/hostname and so on',
    ])
      refused(Buffer.from(text));
    refused(Buffer.alloc(1000));
    refused(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
  });

  test('sides of nothing, and of more than 4096', () => {
    const sized = (bytes: Buffer, write: (copy: Buffer) => void): Buffer => {
      const copy = Buffer.from(bytes);
      write(copy);
      return copy;
    };
    const gif = Buffer.from('GIF89a\x10\0\x10\0\0\0\0,\0\0\0\0\x10\0\x10\0\0\x02\0\0;', 'latin1');
    const png = writePng(8, 8, noise);
    const vp8l = writeWebp('lossless');
    const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    for (const side of [0, 4097, 65_535]) {
      refused(sized(gif, (copy) => copy.writeUInt16LE(side, 6)));
      refused(sized(png, (copy) => copy.writeUInt32BE(side, 16)));
      refused(sized(png, (copy) => copy.writeUInt32BE(side, 20)));
      refused(sized(jpeg, (copy) => copy.writeUInt16BE(side, frame + 5)));
      refused(sized(jpeg, (copy) => copy.writeUInt16BE(side, frame + 7)));
    }
    refused(sized(png, (copy) => copy.writeUInt32BE(0xffffffff, 16)));
    refused(sized(vp8l, (copy) => copy.writeUInt32LE(4096 | (4096 << 14), 21)));
    // A canvas that is small and a frame that is not.
    const extended = Buffer.concat([Buffer.from([0, 0, 0, 0]), uint24(15), uint24(15)]);
    const large = Buffer.from(vp8l.subarray(12));
    large.writeUInt32LE(16_000 | (16_000 << 14), 9);
    refused(riff('RIFF', Buffer.concat([Buffer.from('WEBP', 'latin1'), riff('VP8X', extended), large])));
  });

  test('files that end too early', () => {
    for (const bytes of [
      writePng(64, 64, noise),
      writePng(64, 64, noise, { color: 'rgb', interlaced: true }),
      jpeg,
      writeWebp('lossless'),
      writeWebp(90),
      animate(writeWebp('lossless'), [WIDTH, HEIGHT]),
    ])
      for (const part of [0.1, 0.3, 0.5]) refused(bytes.subarray(0, Math.floor(bytes.length * part)));
  });

  test('damaged files give an image or an error', () => {
    const files = [
      writePng(40, 40, noise),
      writePng(40, 40, noise, { color: 'palette', interlaced: true }),
      writeJpeg({ columns: 8, rows: 8, blockAt: (column) => [column * 20, 128, 128], orientation: 6 }),
      writeWebp('lossless'),
      animate(writeWebp(90), [WIDTH, HEIGHT]),
    ];
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const outcomes = new Set<string>();
    for (let round = 0; round < 400; round++) {
      const bytes = Buffer.from(files[round % files.length]!);
      for (let flips = 1 + random(8); flips > 0; flips--) bytes[random(bytes.length)]! ^= 1 << random(8);
      try {
        read(bytes);
        outcomes.add('pixels');
      } catch (error) {
        outcomes.add((error as { code: string }).code);
      }
    }
    expect([...outcomes].sort()).toEqual(['media_failed', 'pixels']);
  });
});
