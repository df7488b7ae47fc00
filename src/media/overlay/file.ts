import type { Size } from '../plan/ladder.js';

/**
 * A stored overlay: natural width and height of the image, width and height of the stored pixels
 * (four big-endian 32-bit numbers), then the pixels as RGBA, row by row without padding.
 */
export const OVERLAY_HEADER_BYTES = 16;
export const RGBA_BYTES = 4;

export interface OverlayFile {
  readonly natural: Size;
  readonly stored: Size;
}

export const writeOverlayHeader = ({ natural, stored }: OverlayFile): Buffer => {
  const header = Buffer.alloc(OVERLAY_HEADER_BYTES);
  [natural.width, natural.height, stored.width, stored.height].forEach((length, at) => {
    header.writeUInt32BE(length, at * 4);
  });
  return header;
};

/** Undefined when the size of the file does not fit its header. */
export const readOverlayHeader = (header: Buffer, sizeBytes: number): OverlayFile | undefined => {
  if (header.length < OVERLAY_HEADER_BYTES) return undefined;
  const at = (index: number): number => header.readUInt32BE(index * 4);
  const file = { natural: { width: at(0), height: at(1) }, stored: { width: at(2), height: at(3) } };
  const { width, height } = file.stored;
  const fits = width > 0 && height > 0 && sizeBytes === OVERLAY_HEADER_BYTES + width * height * RGBA_BYTES;
  return fits && file.natural.width > 0 && file.natural.height > 0 ? file : undefined;
};
