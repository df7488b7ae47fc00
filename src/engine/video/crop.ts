import { AV_PKT_DATA_FRAME_CROPPING } from 'node-av/constants';
import type { Stream } from 'node-av/lib';

/**
 * Pixels to cut from each side (clean aperture of MP4 and MOV; the codec's own cropping is already
 * applied).
 */
export interface Crop {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** Reads four 32-bit numbers in host byte order: top, bottom, left, right. */
export const cropOf = (stream: Stream): Crop | undefined => {
  const data = stream.codecpar.getCodedSideData(AV_PKT_DATA_FRAME_CROPPING);
  if (data === null || data.length < 16) return undefined;
  const [top, bottom, left, right] = [0, 4, 8, 12].map((offset) => data.readUInt32LE(offset)) as [
    number,
    number,
    number,
    number,
  ];
  return top + bottom + left + right === 0 ? undefined : { top, bottom, left, right };
};
