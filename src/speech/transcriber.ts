import type { FailureClass } from '../lib/errors.js';
import { KinoraError } from '../lib/errors.js';
import type { Transcript } from '../media/speech/word.js';

/** A window of speech: a WAV file, 16 kHz, mono, 16 bit, of at most 30 seconds. */
export interface WindowAudio {
  readonly bytes: Uint8Array;
  /** As a media process wrote it, so only to be read by one. */
  readonly path: string;
  readonly lengthMs: number;
}

export interface TranscribeOptions {
  /** An ISO 639 code, or `auto`. */
  readonly language: string;
  /** Names and terms that are likely to be said. */
  readonly phrases: readonly string[];
  readonly signal: AbortSignal;
}

/** Turns speech into words. */
export interface Transcriber {
  /** Before any work: @throws KinoraError `speech_failed` when this language, or nothing at all, can be recognized. */
  check(language: string): Promise<void>;
  /**
   * Times are milliseconds from the start of the window.
   * @throws KinoraError `speech_failed`, `cancelled`
   */
  transcribe(window: WindowAudio, options: TranscribeOptions): Promise<Transcript>;
}

/** `message` is shown to the owner of the track, `details` to the operator. */
export const speechFailure = (
  message: string,
  failure: FailureClass,
  details: Record<string, unknown> = {},
  cause?: unknown,
): KinoraError => new KinoraError('speech_failed', { messages: [message], failure, details, cause });

/** The longest prompt that models of the Whisper family take is about so long. */
const MAX_PHRASES_CHARACTERS = 800;

/** As one line, the first ones as far as they fit. */
export const joinPhrases = (phrases: readonly string[]): string => {
  let line = '';
  for (const phrase of new Set(phrases)) {
    const longer = line === '' ? phrase : `${line}, ${phrase}`;
    if (longer.length > MAX_PHRASES_CHARACTERS) break;
    line = longer;
  }
  return line;
};
