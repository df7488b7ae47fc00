// Answers what the plan is: what a file contains, and whether it is within the limits.

import { KinoraError } from '../../lib/errors.js';
import { isMatroskaFormat, isMpegStreamFormat } from '../../media/source/frames.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { MediaSource } from '../../pool/protocol.js';
import type { FileContext } from './context.js';

/** The longest accepted source, in seconds. */
const MAX_DURATION_SECONDS = 12 * 3600;
/** 8K with room to spare; anything larger is treated as a decompression bomb. */
const MAX_PIXELS = 8192 * 8192;
const MAX_STREAMS = 100;

/** The part of a file that a job needs, without its lease. */
export const sourceOf = ({ path, staged }: MediaSource, formatName?: string): MediaSource => ({
  path,
  formatName,
  staged,
});

/** Probes a file; `fresh` for one that no media process has read yet. */
export const probeFile = (
  { pool, signal }: Pick<FileContext, 'pool' | 'signal'>,
  file: MediaSource,
  { fresh = false, isPrefix = false }: { readonly fresh?: boolean; readonly isPrefix?: boolean } = {},
): Promise<SourceFacts> =>
  pool.run(
    { kind: 'probe', source: sourceOf(file), maxPixels: MAX_PIXELS, maxStreams: MAX_STREAMS, isPrefix },
    { priority: mediaPriority.warmUp, signal, fresh },
  );

/** @throws KinoraError `invalid_input` */
export const checkLimits = (facts: SourceFacts): void => {
  if (facts.refusal) reject(...facts.refusal);
  checkDuration(declaredSeconds(facts));
};

/**
 * How long the video and the audio are according to the file; 0 when that is unknown, because the
 * plan is checked later.
 */
const declaredSeconds = ({ formatName, durationSeconds, video, audio, text }: SourceFacts): number => {
  // The apparent duration of an MPEG stream is the difference of two time stamps, and one may be
  // wrong.
  if (isMpegStreamFormat(formatName)) return 0;
  // Matroska only declares when the last stream ends, and the last cue of subtitles may end at any
  // time.
  if (isMatroskaFormat(formatName) && text) return 0;
  const longest = Math.max(video?.durationSeconds ?? 0, ...audio.map((stream) => stream.durationSeconds));
  return longest > 0 ? Math.min(longest, durationSeconds) : durationSeconds;
};

/** @throws KinoraError `invalid_input` */
export const checkDuration = (seconds: number): void => {
  if (seconds > MAX_DURATION_SECONDS) reject('The input file is longer than the maximum duration of 12 hours.');
};

/** @throws KinoraError `invalid_input` with messages for the owner of the file */
export const reject = (...messages: readonly string[]): never => {
  throw new KinoraError('invalid_input', { messages });
};
