/** The type and size of an image file, read from its first bytes without decoding. */
export interface ImageHeader {
  readonly format: 'png' | 'jpeg' | 'webp' | 'gif';
  readonly width: number;
  readonly height: number;
}

/**
 * Recognizes PNG, JPEG, WebP and GIF by content. Undefined for everything else and for truncated
 * headers.
 */
export const readImageHeader = (bytes: Uint8Array): ImageHeader | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  if (bytes.length < 26) return undefined;
  if (text(1, 3) === 'PNG' && text(12, 4) === 'IHDR') return sized('png', view.getUint32(16), view.getUint32(20));
  if (text(0, 4) === 'GIF8') return sized('gif', view.getUint16(6, true), view.getUint16(8, true));
  if (text(0, 4) === 'RIFF' && text(8, 4) === 'WEBP')
    return bytes.length < 30 ? undefined : readWebp(view, text(12, 4));
  return bytes[0] === 0xff && bytes[1] === 0xd8 ? readJpeg(view) : undefined;
};

const sized = (format: ImageHeader['format'], width: number, height: number): ImageHeader | undefined =>
  width > 0 && height > 0 ? { format, width, height } : undefined;

/** RFC 9649: lossy, lossless and extended files store their size in different ways. */
const readWebp = (view: DataView, chunk: string): ImageHeader | undefined => {
  const uint24 = (at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  if (chunk === 'VP8X') return sized('webp', uint24(24) + 1, uint24(27) + 1);
  if (chunk === 'VP8 ') return sized('webp', view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
  if (chunk !== 'VP8L') return undefined;
  const bits = view.getUint32(21, true);
  return sized('webp', (bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
};

/**
 * Skips markers up to the start of the frame (ITU-T T.81, B.2.2): any of SOF0 to SOF15 except DHT,
 * JPG and DAC.
 */
const readJpeg = (view: DataView): ImageHeader | undefined => {
  for (let at = 2; at + 9 < view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    // Fill bytes, and markers without content.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      at += 2;
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return sized('jpeg', view.getUint16(at + 7), view.getUint16(at + 5));
    // The image data begins without a preceding frame header.
    if (marker === 0xda || marker === 0xd9) return undefined;
    at += 2 + Math.max(view.getUint16(at + 2), 2);
  }
  return undefined;
};
