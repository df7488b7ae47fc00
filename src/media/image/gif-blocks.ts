const EXTENSION = 0x21;
const IMAGE = 0x2c;

/**
 * Whether the first frame of a GIF file is complete. FFmpeg decodes an incomplete frame without an
 * error.
 */
export const hasWholeFrame = (bytes: Uint8Array): boolean => {
  const byteAt = (at: number): number => bytes[at] ?? 0;
  const paletteBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1));
  /** The end of the sequence of sub-blocks that begins at `at`. */
  const skipSubBlocks = (at: number): number => {
    let next = at;
    while (next < bytes.length && byteAt(next) !== 0) next += byteAt(next) + 1;
    return next + 1;
  };
  let at = 13 + paletteBytes(byteAt(10));
  while (byteAt(at) === EXTENSION) at = skipSubBlocks(at + 2);
  if (byteAt(at) !== IMAGE) return false;
  return skipSubBlocks(at + 10 + paletteBytes(byteAt(at + 9)) + 1) <= bytes.length;
};
