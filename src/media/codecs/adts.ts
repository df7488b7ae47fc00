import { SAMPLING_FREQUENCIES } from './aac.js';

/** A frame of AAC with its header (ISO/IEC 13818-7, 6.2). */
export interface AdtsHeader {
  /** Audio object type: 2 is AAC-LC. */
  readonly objectType: number;
  readonly sampleRate: number;
  /** 0 when only the frame itself says it. */
  readonly channelConfiguration: number;
  readonly headerBytes: number;
  /** Including the header. */
  readonly frameBytes: number;
  /** More than one frame of samples behind one header. */
  readonly hasMoreBlocks: boolean;
}

export const ADTS_HEADER_BYTES = 7;
const CHECK_BYTES = 2;

/** Undefined when no frame begins there. */
export const readAdtsHeader = (bytes: Uint8Array, at: number): AdtsHeader | undefined => {
  if (at + ADTS_HEADER_BYTES > bytes.length || bytes[at] !== 0xff || (bytes[at + 1]! & 0xf6) !== 0xf0) return undefined;
  const sampleRate = SAMPLING_FREQUENCIES[(bytes[at + 2]! >> 2) & 0xf];
  const headerBytes = ADTS_HEADER_BYTES + (bytes[at + 1]! & 1 ? 0 : CHECK_BYTES);
  const frameBytes = (bytes[at + 3]! & 3) * 2048 + bytes[at + 4]! * 8 + (bytes[at + 5]! >> 5);
  if (sampleRate === undefined || frameBytes <= headerBytes) return undefined;
  return {
    objectType: (bytes[at + 2]! >> 6) + 1,
    sampleRate,
    channelConfiguration: (bytes[at + 2]! & 1) * 4 + (bytes[at + 3]! >> 6),
    headerBytes,
    frameBytes,
    hasMoreBlocks: (bytes[at + 6]! & 3) !== 0,
  };
};
