/** A recognized word and its time, in whole milliseconds. */
export interface Word {
  readonly startMs: number;
  readonly endMs: number;
  /** Without surrounding spaces. Punctuation belongs to the preceding word. */
  readonly text: string;
}

/** The result of recognizing some audio. */
export interface Transcript {
  /** ISO 639 code, present when the recognizer named a language. */
  readonly language?: string;
  /** Confidence in `language`, 0 to 1. */
  readonly confidence?: number;
  readonly words: readonly Word[];
}
