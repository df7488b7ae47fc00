import { crc32, deflateSync } from 'node:zlib';

type Rgba = readonly [red: number, green: number, blue: number, alpha: number];

/** `palette` has transparency, as all kinds with alpha; `interlaced` is Adam7. */
export interface PngKind {
  readonly color: 'grey' | 'rgb' | 'palette' | 'grey-alpha' | 'rgba';
  readonly depth?: 8 | 16;
  readonly interlaced?: boolean;
}

const COLOR_TYPES = { grey: 0, rgb: 2, palette: 3, 'grey-alpha': 4, rgba: 6 } as const;
/** First column and row of each pass, and how far its pixels are apart (ISO/IEC 15948, 8.2). */
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

export const pngChunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
};

/**
 * A PNG file; `colorAt` is asked for every pixel, of gray kinds its red counts. `further` goes
 * before the pixels.
 */
export const writePng = (
  width: number,
  height: number,
  colorAt: (x: number, y: number) => Rgba,
  { color, depth = 8, interlaced = false }: PngKind = { color: 'rgba' },
  further: readonly Buffer[] = [],
): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, COLOR_TYPES[color], 0, 0, interlaced ? 1 : 0], 8);
  const palette: Rgba[] = [];
  const samplesAt = (x: number, y: number): readonly number[] => {
    const rgba = colorAt(x, y);
    const [red, green, blue, alpha] = rgba;
    if (color === 'grey') return [red];
    if (color === 'grey-alpha') return [red, alpha];
    if (color === 'rgb') return [red, green, blue];
    if (color === 'rgba') return rgba;
    let index = palette.findIndex((known) => known.join() === rgba.join());
    if (index === -1) index = palette.push(rgba) - 1;
    return [index];
  };
  const rows: Buffer[] = [];
  for (const [left, top, across, down] of interlaced ? ADAM7 : [[0, 0, 1, 1] as const]) {
    for (let y = top; y < height && left < width; y += down) {
      const samples: number[] = [];
      for (let x = left; x < width; x += across) samples.push(...samplesAt(x, y));
      rows.push(Buffer.from([0, ...(depth === 16 ? samples.flatMap((sample) => [sample, sample]) : samples)]));
    }
  }
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    ...further,
    ...(color === 'palette'
      ? [
          pngChunk('PLTE', Buffer.from(palette.flatMap((color) => color.slice(0, 3)))),
          pngChunk('tRNS', Buffer.from(palette.map(([, , , alpha]) => alpha))),
        ]
      : []),
    pngChunk('IDAT', deflateSync(Buffer.concat(rows))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
};
