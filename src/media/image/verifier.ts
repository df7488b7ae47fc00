import { KinoraError } from '../../lib/errors.js';
import type { Size } from '../plan/ladder.js';

/** Reads the structure of a finished image file. Shares no code with the encoders. */

type ImageFormat = 'jpg' | 'png' | 'webp' | 'gif';

/**
 * Checks that an image has the requested format and size and is complete.
 * @throws KinoraError `media_failed`
 */
export const verifyImage = (file: Uint8Array, format: ImageFormat, expected: Size): void => {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const size = READERS[format](bytes);
  if (size && size.width === expected.width && size.height === expected.height) return;
  throw new KinoraError('media_failed', { details: { stage: 'verify', format, expected, size } });
};

/** ITU-T T.81, B.1: markers up to the frame header; the file ends with EOI. */
const readJpegSize = (bytes: Buffer): Size | undefined => {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8 || bytes.readUInt16BE(bytes.length - 2) !== 0xffd9)
    return undefined;
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
};

/** ISO/IEC 15948, 5: signature, IHDR first, IEND last. */
const readPngSize = (bytes: Buffer): Size | undefined => {
  const isWhole =
    bytes.length > 45 &&
    bytes.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n' &&
    bytes.toString('latin1', 12, 16) === 'IHDR' &&
    bytes.toString('latin1', bytes.length - 8, bytes.length - 4) === 'IEND';
  return isWhole ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : undefined;
};

/**
 * RFC 9649, 2: a RIFF container of the declared length, either extended (VP8X) or a single lossy
 * image (VP8).
 */
const readWebpSize = (bytes: Buffer): Size | undefined => {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return undefined;
  if (bytes.readUInt32LE(4) + 8 !== bytes.length) return undefined;
  const chunk = bytes.toString('latin1', 12, 16);
  if (chunk === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (chunk !== 'VP8 ') return undefined;
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
};

/** GIF89a: the logical screen; the file ends with the trailer. */
const readGifSize = (bytes: Buffer): Size | undefined =>
  bytes.length > 14 && bytes.toString('latin1', 0, 6) === 'GIF89a' && bytes.at(-1) === 0x3b
    ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    : undefined;

const READERS = { jpg: readJpegSize, png: readPngSize, webp: readWebpSize, gif: readGifSize };
