/** A recognized word and its time, in whole milliseconds. */
export interface Word {
  readonly startMs: number;
  readonly endMs: number;
  /** Without blanks around it; punctuation belongs to the word before. */
  readonly text: string;
}

/** What a recognizer made of some audio. */
export interface Transcript {
  /** ISO 639 code, present when the recognizer named a language. */
  readonly language?: string;
  /** Of `language`, 0 to 1. */
  readonly confidence?: number;
  readonly words: readonly Word[];
}
