import { KinoraError } from '../../../lib/errors.js';
import { isMpegStreamFormat } from '../../../media/source/frames.js';
import type { SourceFacts } from '../../../media/source/source-facts.js';
import { mediaPriority } from '../../../pool/media-pool.js';
import type { MediaSource } from '../../../pool/protocol.js';
import type { FileContext } from './context.js';

/** Longest source that is accepted, seconds. */
const MAX_DURATION_SECONDS = 12 * 3600;
/** 8K with room to spare; more is a decompression bomb until somebody shows a real one. */
const MAX_PIXELS = 8192 * 8192;
const MAX_STREAMS = 100;

/** Of a file that a job reads, without the lease that may come with it. */
export const sourceOf = ({ path, staged }: MediaSource, formatName?: string): MediaSource => ({
  path,
  ...(formatName !== undefined && { formatName }),
  ...(staged && { staged }),
});

/** What is in a file; `fresh` for one that no media process has seen yet. */
export const probeFile = (
  { pool, signal }: Pick<FileContext, 'pool' | 'signal'>,
  file: MediaSource,
  { fresh = false }: { readonly fresh?: boolean } = {},
): Promise<SourceFacts> =>
  pool.run(
    { kind: 'probe', source: sourceOf(file), maxPixels: MAX_PIXELS, maxStreams: MAX_STREAMS },
    { priority: mediaPriority.warmUp, signal, fresh },
  );

/** @throws KinoraError `invalid_input` */
export const checkLimits = (facts: SourceFacts): void => {
  if (facts.refusal) refuse(...facts.refusal);
  // What an MPEG stream seems to last is the difference of two time stamps, and one may be wrong: its plan is judged.
  if (!isMpegStreamFormat(facts.formatName)) checkDuration(facts.durationSeconds);
};

/** @throws KinoraError `invalid_input` */
export const checkDuration = (seconds: number): void => {
  if (seconds > MAX_DURATION_SECONDS) refuse('The input file is longer than the maximum duration of 12 hours.');
};

/** @throws KinoraError `invalid_input` with the texts that the owner of the file reads */
export const refuse = (...messages: readonly string[]): never => {
  throw new KinoraError('invalid_input', { messages });
};
