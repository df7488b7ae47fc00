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
