import { readAudioSpecificConfig, SAMPLING_FREQUENCIES } from './aac.js';

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

const MAX_FRAME_BYTES = 2 ** 13 - 1;
const AAC_LC = 2;
const PARAMETRIC_STEREO = 29;

/**
 * The header of a frame of `dataBytes`. HE-AAC is announced as its core, in which decoders find the
 * rest. Undefined when ADTS can't say the configuration or the size.
 * @param record AudioSpecificConfig
 */
export const writeAdtsHeader = (record: Uint8Array, dataBytes: number): Uint8Array | undefined => {
  const config = readAudioSpecificConfig(record);
  const frameBytes = ADTS_HEADER_BYTES + dataBytes;
  const index = config ? SAMPLING_FREQUENCIES.indexOf(config.sampleRate) : -1;
  if (!config || index === -1 || frameBytes > MAX_FRAME_BYTES) return undefined;
  const { objectType, channels } = config;
  const coreType = objectType <= 4 ? objectType : AAC_LC;
  const coreChannels = objectType === PARAMETRIC_STEREO ? 1 : channels === 8 ? 7 : channels;
  return Uint8Array.of(
    0xff,
    0xf1,
    ((coreType - 1) << 6) | (index << 2) | (coreChannels >> 2),
    ((coreChannels & 3) << 6) | (frameBytes >> 11),
    (frameBytes >> 3) & 0xff,
    ((frameBytes & 7) << 5) | 0x1f,
    0xfc,
  );
};
