export interface Spoken {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** A WAV file, 16 kHz, mono. */
export const makeSpeech: (seconds: number, spoken: readonly Spoken[]) => Buffer;
/** A WAV file of 16-bit samples, 16 kHz, mono. */
export const waveFile: (samples: Buffer) => Buffer;
