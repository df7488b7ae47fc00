/** RFC 9649, 2.7.1.1: what an animated WebP file says about itself. */

interface AnimatedWebp {
  readonly size: string;
  /** 0: forever. */
  readonly loops: number;
  /** `file`: the part of the canvas that the frame brings, as a WebP file of its own. */
  readonly frames: readonly { readonly durationMs: number; readonly file: Buffer }[];
}

/** Reads the chunks of `bytes[from, to)`. */
const chunksOf = (bytes: Buffer, from: number, to: number): { type: string; start: number; end: number }[] => {
  const chunks = [];
  for (let at = from; at + 8 <= to; ) {
    const length = bytes.readUInt32LE(at + 4);
    chunks.push({ type: bytes.toString('latin1', at, at + 4), start: at + 8, end: at + 8 + length });
    at += 8 + length + (length % 2);
  }
  return chunks;
};

export const readAnimatedWebp = (bytes: Buffer): AnimatedWebp => {
  const chunks = chunksOf(bytes, 12, bytes.length);
  const canvas = chunks.find(({ type }) => type === 'VP8X')!.start;
  const animation = chunks.find(({ type }) => type === 'ANIM')!.start;
  return {
    size: `${bytes.readUIntLE(canvas + 4, 3) + 1}x${bytes.readUIntLE(canvas + 7, 3) + 1}`,
    loops: bytes.readUInt16LE(animation + 4),
    frames: chunks
      .filter(({ type }) => type === 'ANMF')
      .map(({ start, end }) => {
        const image = chunksOf(bytes, start + 16, end).find(({ type }) => type.startsWith('VP8'))!;
        const body = bytes.subarray(image.start - 8, image.end + ((image.end - image.start) % 2));
        const head = Buffer.from('RIFF0000WEBP', 'latin1');
        head.writeUInt32LE(body.length + 4, 4);
        return { durationMs: bytes.readUIntLE(start + 12, 3), file: Buffer.concat([head, body]) };
      }),
  };
};
