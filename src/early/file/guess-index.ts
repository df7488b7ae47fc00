// Answers what the plan is: where the packets of a file are, before it is probed.

import type { ByteRanges } from '../../lib/byte-ranges.js';
import { isKinoraError } from '../../lib/errors.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import { isMovFormat } from '../../media/source/frames.js';
import { keyFrameRanges } from '../../media/source/key-frame-ranges.js';
import { neededRanges } from '../../media/source/needed-ranges.js';
import type { Rational } from '../../media/source/source-facts.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { FirstTrack, FirstTracks, MediaSource } from '../../pool/protocol.js';
import { readResult } from '../../pool/read-result.js';
import type { FileContext } from './context.js';
import { sourceOf } from './probe-file.js';
import { type IndexedStreams, type IndexFile, MAX_INDEX_BYTES, readIndexFile } from './read-index.js';

/** The index of the first tracks of an MP4 or MOV: nearly always those that are used. */
export interface GuessedIndex extends IndexFile {
  readonly tracks: FirstTracks;
  /** What the probe reads in the middle of the file. */
  readonly inspected: ByteRanges;
  /** What the first two segments are made from. */
  readonly first: ByteRanges;
}

/** Where the second video segment and the first chunk of the audio end in most plans. */
const FIRST_SECONDS = { video: 4, audio: 8 };

/**
 * Indexes an MP4 or MOV from its sample tables before it is probed, or, `besideProbe`, meanwhile.
 * The probe that follows gets the same process. Undefined when the tables are not sufficient.
 */
export const guessIndex = async (
  { pool, temporaryDir, signal }: Pick<FileContext, 'pool' | 'temporaryDir' | 'signal'>,
  file: MediaSource,
  { besideProbe = false }: { readonly besideProbe?: boolean } = {},
): Promise<GuessedIndex | undefined> => {
  const guess = async (outPath: string): Promise<GuessedIndex | undefined> => {
    const job = { kind: 'first-tracks', source: sourceOf(file), outPath } as const;
    const options = { priority: mediaPriority.warmUp, signal, fresh: !besideProbe, isContinued: !besideProbe };
    const tracks = await pool.run(job, options);
    if (!tracks.video && !tracks.audio) return undefined;
    return describeGuess(tracks, readIndexFile(await readResult(outPath, MAX_INDEX_BYTES)));
  };
  try {
    return await withTemporaryFile(temporaryDir, guess);
  } catch (error) {
    if (signal.aborted || !isKinoraError(error)) throw error;
    // The probe says what is wrong with the file.
    return undefined;
  }
};

const describeGuess = (tracks: FirstTracks, file: IndexFile): GuessedIndex => {
  const { index } = file;
  const timescales = { video: tracks.video?.timescale, audio: tracks.audio?.timescale };
  const timed = { index, videoTimeBase: timeBaseOf(tracks.video), audioTimeBase: timeBaseOf(tracks.audio) };
  const first = [
    ...neededRanges(timed, 0, FIRST_SECONDS.video, { video: true, audio: false }),
    ...neededRanges(timed, 0, FIRST_SECONDS.audio, { video: false, audio: true }),
  ];
  return { ...file, tracks, inspected: keyFrameRanges(index, timescales), first };
};

const timeBaseOf = (track: FirstTrack | undefined): Rational | undefined => track && { num: 1, den: track.timescale };

/** The index of the streams that the probe has chosen, if it was guessed. */
export const confirmGuess = (guess: GuessedIndex | undefined, facts: IndexedStreams): GuessedIndex | undefined => {
  const { video, audio } = guess?.tracks ?? {};
  const isConfirmed =
    isMovFormat(facts.formatName) &&
    video?.streamIndex === facts.video?.streamIndex &&
    audio?.streamIndex === facts.audio[0]?.streamIndex &&
    !facts.video?.unmarkedStart;
  return isConfirmed ? guess : undefined;
};
