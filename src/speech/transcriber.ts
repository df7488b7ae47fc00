import type { FailureClass } from '../lib/errors.js';
import { KinoraError } from '../lib/errors.js';
import type { Transcript } from '../media/speech/word.js';

/** A window of speech: a WAV file, 16 kHz, mono, 16 bit, of at most 30 seconds. */
export interface WindowAudio {
  readonly bytes: Uint8Array;
  /** Written by a media process, so only a media process may parse it. */
  readonly path: string;
  readonly lengthMs: number;
}

export interface TranscribeOptions {
  /** An ISO 639 code, or `auto`. */
  readonly language: string;
  /** Names and terms that are likely to occur. */
  readonly phrases: readonly string[];
  readonly signal: AbortSignal;
}

/** Turns speech into words. */
export interface Transcriber {
  /**
   * Called before any work.
   * @throws KinoraError `speech_failed` when this language, or any language, can't be recognized.
   */
  check(language: string): Promise<void>;
  /**
   * Times are milliseconds from the start of the window.
   * @throws KinoraError `speech_failed`, `cancelled`
   */
  transcribe(window: WindowAudio, options: TranscribeOptions): Promise<Transcript>;
}

/** `message` is for the owner of the track, `details` for the operator. */
export const speechFailure = (
  message: string,
  failure: FailureClass,
  details: Record<string, unknown> = {},
  cause?: unknown,
): KinoraError => new KinoraError('speech_failed', { messages: [message], failure, details, cause });

/** About the longest prompt that models of the Whisper family accept. */
const MAX_PHRASES_CHARACTERS = 800;

/** Joins phrases to one line, as many of the first ones as fit. */
export const joinPhrases = (phrases: readonly string[]): string => {
  let line = '';
  for (const phrase of new Set(phrases)) {
    const longer = line === '' ? phrase : `${line}, ${phrase}`;
    if (longer.length > MAX_PHRASES_CHARACTERS) break;
    line = longer;
  }
  return line;
};
