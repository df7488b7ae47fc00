import assert from 'node:assert';

/** Every AAC-LC access unit decodes to this many samples per channel. */
export const AAC_FRAME_SAMPLES = 1024;

// ISO/IEC 14496-3, table 1.18
const SAMPLING_FREQUENCIES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];

/** AudioSpecificConfig of AAC-LC: object type 2, 1,024-sample frames. `channels` 1 to 6. */
export const audioSpecificConfig = (sampleRate: number, channels: number): Uint8Array => {
  const frequencyIndex = SAMPLING_FREQUENCIES.indexOf(sampleRate);
  assert(frequencyIndex >= 0 && channels >= 1 && channels <= 6, 'no such AAC-LC configuration');
  return Uint8Array.of((2 << 3) | (frequencyIndex >> 1), ((frequencyIndex & 1) << 7) | (channels << 3));
};

export interface AacConfig {
  /** 2 is AAC-LC, 5 HE-AAC (with SBR), 29 HE-AAC v2 (with parametric stereo). */
  readonly objectType: number;
  /** Of the core: an access unit has 1,024 samples at this rate, whatever SBR makes of them. */
  readonly sampleRate: number;
  readonly channels: number;
  /** RFC 6381. */
  readonly codecs: string;
}

const PARAMETRIC_STEREO = 29;
/** Channels by `channelConfiguration` (ISO/IEC 14496-3, table 1.19). */
const CHANNELS = [0, 1, 2, 3, 4, 5, 6, 8];

/**
 * Reads an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1). Undefined when it is damaged, or when
 * the channels are only defined by a program config element.
 */
export const readAudioSpecificConfig = (bytes: Uint8Array): AacConfig | undefined => {
  let bit = 0;
  const bits = (count: number): number => {
    let value = 0;
    for (; count > 0; count -= 1, bit += 1) value = value * 2 + (((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1);
    return value;
  };
  const type = bits(5);
  const objectType = type === 31 ? 32 + bits(6) : type;
  const index = bits(4);
  const sampleRate = index === 15 ? bits(24) : SAMPLING_FREQUENCIES[index];
  const channels = CHANNELS[bits(4)];
  if (bit > bytes.length * 8 || !sampleRate || !channels || objectType === 0) return undefined;
  if (objectType === PARAMETRIC_STEREO) return { objectType, sampleRate, channels: 2, codecs: 'mp4a.40.29' };
  return { objectType, sampleRate, channels, codecs: `mp4a.40.${objectType}` };
};
