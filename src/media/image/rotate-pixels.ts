import type { Size } from '../plan/ladder.js';

export interface Orientation {
  /** Clockwise. */
  readonly rotation: 0 | 90 | 180 | 270;
  /** After the rotation. */
  readonly flipHorizontal: boolean;
}

export const rotateSize = ({ width, height }: Size, { rotation }: Pick<Orientation, 'rotation'>): Size =>
  rotation % 180 === 0 ? { width, height } : { width: height, height: width };

/** Rotates an image with four bytes per pixel and no padding between rows. */
export const rotatePixels = (pixels: Uint8Array, size: Size, { rotation, flipHorizontal }: Orientation): Uint8Array => {
  if (rotation === 0 && !flipHorizontal) return pixels;
  // A copy is aligned for 32-bit access.
  const from = new Uint32Array(new Uint8Array(pixels).buffer);
  const to = new Uint32Array(from.length);
  const { width, height } = rotateSize(size, { rotation });
  const last = from.length - 1;
  for (let y = 0, at = 0; y < height; y++) {
    for (let column = 0; column < width; column++, at++) {
      const x = flipHorizontal ? width - 1 - column : column;
      if (rotation === 0) to[at] = from[y * size.width + x]!;
      else if (rotation === 180) to[at] = from[last - (y * size.width + x)]!;
      else if (rotation === 90) to[at] = from[(size.height - 1 - x) * size.width + y]!;
      else to[at] = from[x * size.width + (size.width - 1 - y)]!;
    }
  }
  return new Uint8Array(to.buffer);
};
