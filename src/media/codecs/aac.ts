import assert from 'node:assert';

/** Every AAC-LC access unit decodes to this many samples per channel. */
export const AAC_FRAME_SAMPLES = 1024;

/** By index (ISO/IEC 14496-3, table 1.18). */
export const SAMPLING_FREQUENCIES = [
  96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
];

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

/** Object types whose frames have the syntax of AAC-LC, but for extensions that may be absent. */
const LC_SYNTAX = new Set([1, 2, 5, PARAMETRIC_STEREO]);
const SINGLE = 0;
const PAIR = 1;
const LOW_FREQUENCY = 3;
const END = 7;
/** Elements by number of channels (ISO/IEC 14496-3, table 1.19). */
const ELEMENTS: Readonly<Record<number, readonly number[]>> = {
  1: [SINGLE],
  2: [PAIR],
  3: [SINGLE, PAIR],
  4: [SINGLE, PAIR, SINGLE],
  5: [SINGLE, PAIR, PAIR],
  6: [SINGLE, PAIR, PAIR, LOW_FREQUENCY],
  8: [SINGLE, PAIR, PAIR, PAIR, LOW_FREQUENCY],
};

/**
 * An access unit of silence for this configuration (ISO/IEC 14496-3, 4.4.2.1): elements without any
 * spectral data. Undefined for object types with another syntax.
 */
export const silentAacFrame = ({ objectType, channels }: AacConfig): Uint8Array | undefined => {
  // Parametric stereo is made of one channel.
  const elements = ELEMENTS[objectType === PARAMETRIC_STEREO ? 1 : channels];
  if (!elements || !LC_SYNTAX.has(objectType)) return undefined;
  const tags = new Map<number, number>();
  const bits = elements.map((element) => {
    const tag = tags.get(element) ?? 0;
    tags.set(element, tag + 1);
    return (
      bitsOf(element, 3) + bitsOf(tag, 4) + (element === PAIR ? SILENT_PAIR : SILENT_GAIN + LONG_WINDOW + NO_TOOLS)
    );
  });
  const all = `${bits.join('')}${bitsOf(END, 3)}`;
  const bytes = all.padEnd(Math.ceil(all.length / 8) * 8, '0').match(/.{8}/g)!;
  return Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 2));
};

const bitsOf = (value: number, count: number): string => value.toString(2).padStart(count, '0');
const SILENT_GAIN = bitsOf(0, 8);
/** `ics_info`: one long window, no scale factor bands, no prediction. */
const LONG_WINDOW = bitsOf(0, 11);
/** No pulse data, noise shaping or gain control. */
const NO_TOOLS = bitsOf(0, 3);
/** Both channels share the window; no mid/side stereo. */
const SILENT_PAIR = `1${LONG_WINDOW}${bitsOf(0, 2)}${SILENT_GAIN}${NO_TOOLS}${SILENT_GAIN}${NO_TOOLS}`;
