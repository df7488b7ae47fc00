// Answers what the plan is: where the packets of a file are.

import { buffer } from 'node:stream/consumers';
import type { PendingWork } from '../../lib/pending-work.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { decodeSourceIndex } from '../../media/source/source-index-codec.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { MediaSource, PredictIndexJob } from '../../pool/protocol.js';
import { readResult } from '../../pool/read-result.js';
import type { FileContext } from './context.js';
import { sourceOf } from './probe-file.js';

/** More than the longest index that the codec reads: twice 12 million packets of about 8 bytes. */
export const MAX_INDEX_BYTES = 2 ** 29;

/** The part of `SourceFacts` that says which streams to index. */
export interface IndexedStreams {
  readonly formatName: string;
  readonly video?: { readonly streamIndex: number; readonly unmarkedStart?: boolean };
  /** The first one is indexed. */
  readonly audio: readonly { readonly streamIndex: number }[];
}

export interface IndexFile {
  readonly index: SourceIndex;
  /** The same, as it is stored. */
  readonly bytes: Buffer;
}

interface IndexOptions {
  /** The index of these streams, if it is known but not stored. */
  readonly guessed?: IndexFile | undefined;
  readonly writes?: PendingWork;
}

/**
 * Reads the index stored under `key`, or has a media process index the file and stores the result.
 * On a local disk, storing it goes on among `writes` if they are given. From a bucket, what follows
 * reads it to know which parts of the source it needs.
 */
export const readIndex = async (
  context: FileContext,
  key: string,
  file: MediaSource,
  source: IndexedStreams,
  { guessed, writes }: IndexOptions = {},
): Promise<SourceIndex> => {
  const stored = await context.blobs.read(key);
  if (stored) return decodeSourceIndex(await buffer(stored));
  // Read before it is stored: an unreadable index would fail every later run too.
  const { index, bytes } = guessed ?? readIndexFile(await makeIndex(context, file, source));
  const storing = context.blobs.put(key, bytes);
  if (writes && context.blobs.isLocal) writes.add(storing);
  else await storing;
  return index;
};

/** @throws KinoraError `internal_error` */
export const readIndexFile = (bytes: Buffer): IndexFile => ({ index: decodeSourceIndex(bytes), bytes });

/**
 * Indexes a file. For an incomplete file this works only if its tables are sufficient, or for what
 * its start contains, `isPrefix`.
 */
export const makeIndex = (
  { pool, temporaryDir, signal }: FileContext,
  file: MediaSource,
  source: IndexedStreams,
  isPrefix = false,
): Promise<Buffer> =>
  withTemporaryFile(temporaryDir, async (outPath) => {
    const job = {
      kind: 'index',
      ...describe(file, source),
      videoStreamIndex: source.video?.streamIndex,
      isPrefix,
      outPath,
    } as const;
    await pool.run(job, { priority: mediaPriority.warmUp, signal });
    return readResult(outPath, MAX_INDEX_BYTES);
  });

/**
 * The index of an incomplete Matroska file, by the smallest and by the largest assumptions, or why
 * there is none.
 */
export const predictIndexes = async (
  { pool, temporaryDir, signal }: FileContext,
  file: MediaSource,
  source: IndexedStreams,
): Promise<readonly [low: SourceIndex, high: SourceIndex] | string> => {
  const { video } = source;
  if (!video) return 'it has no video';
  const predict = (bound: PredictIndexJob['bound']): Promise<SourceIndex | string> =>
    withTemporaryFile(temporaryDir, async (outPath) => {
      const { obstacle } = await pool.run(
        { kind: 'predict-index', ...describe(file, source), videoStreamIndex: video.streamIndex, bound, outPath },
        { priority: mediaPriority.warmUp, signal },
      );
      return obstacle ?? decodeSourceIndex(await readResult(outPath, MAX_INDEX_BYTES));
    });
  const low = await predict('low');
  const high = typeof low === 'string' ? low : await predict('high');
  return typeof low === 'string' ? low : typeof high === 'string' ? high : [low, high];
};

const describe = (file: MediaSource, { formatName, video, audio }: IndexedStreams) => ({
  source: sourceOf(file, formatName),
  unmarkedStart: video?.unmarkedStart,
  audioStreamIndex: audio[0]?.streamIndex,
});
