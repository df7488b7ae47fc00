import type { Size } from '../plan/ladder.js';

/**
 * The first frame of an animated WebP file and its position on the canvas. The rest of the canvas
 * is transparent.
 */
export interface FirstFrame {
  /** The frame as a complete WebP file. */
  readonly file: Buffer;
  readonly left: number;
  readonly top: number;
  readonly canvas: Size;
}

const ANIMATION_FLAG = 0x02;
const ALPHA_FLAG = 0x10;
const FRAME_HEADER_BYTES = 16;

/**
 * FFmpeg's WebP decoder reads only single-frame files, so the first frame of an animated one (RFC
 * 9649, 2.7) is extracted. Undefined for files that are not animated, and for broken ones.
 */
export const readFirstFrame = (bytes: Buffer): FirstFrame | undefined => {
  const chunks = listChunks(bytes, 12, bytes.length);
  const [header] = chunks;
  if (header?.type !== 'VP8X' || header.end - header.start < 10) return undefined;
  if (((bytes[header.start] ?? 0) & ANIMATION_FLAG) === 0) return undefined;
  const frame = chunks.find(({ type }) => type === 'ANMF');
  if (!frame || frame.end - frame.start < FRAME_HEADER_BYTES) return undefined;
  const uint24 = (at: number): number => bytes.readUIntLE(at, 3);
  const parts = listChunks(bytes, frame.start + FRAME_HEADER_BYTES, frame.end).filter(({ type }) =>
    ['ALPH', 'VP8 ', 'VP8L'].includes(type),
  );
  const body = parts.map(({ start, end }) => bytes.subarray(start - 8, end + ((end - start) % 2)));
  const extended = Buffer.alloc(18);
  extended.write('VP8X', 'latin1');
  extended.writeUInt32LE(10, 4);
  extended[8] = parts.some(({ type }) => type === 'ALPH') ? ALPHA_FLAG : 0;
  bytes.copy(extended, 12, frame.start + 6, frame.start + 12);
  const file = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'), extended, ...body]);
  file.writeUInt32LE(file.length - 8, 4);
  return {
    file,
    left: uint24(frame.start) * 2,
    top: uint24(frame.start + 3) * 2,
    canvas: { width: uint24(header.start + 4) + 1, height: uint24(header.start + 7) + 1 },
  };
};

/** The complete RIFF chunks. */
const listChunks = (bytes: Buffer, from: number, to: number): { type: string; start: number; end: number }[] => {
  const chunks = [];
  for (let at = from; at + 8 <= to; ) {
    const start = at + 8;
    const end = start + bytes.readUInt32LE(at + 4);
    if (end > to) break;
    chunks.push({ type: bytes.toString('latin1', at, at + 4), start, end });
    at = end + ((end - start) % 2);
  }
  return chunks;
};
