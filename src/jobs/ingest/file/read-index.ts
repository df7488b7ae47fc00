import { buffer } from 'node:stream/consumers';
import { withTemporaryFile } from '../../../lib/temporary-file.js';
import type { SourceIndex } from '../../../media/source/source-index.js';
import { decodeSourceIndex } from '../../../media/source/source-index-codec.js';
import { mediaPriority } from '../../../pool/media-pool.js';
import type { MediaSource } from '../../../pool/protocol.js';
import { readResult } from '../../../pool/read-result.js';
import type { FileContext } from './context.js';
import { sourceOf } from './probe-file.js';

/** More than the longest index that the codec reads: twice 12 million packets of about 8 bytes. */
const MAX_INDEX_BYTES = 2 ** 29;

/** The part of `SourceFacts` that says which streams to index. */
export interface IndexedStreams {
  readonly formatName: string;
  readonly video?: { readonly streamIndex: number; readonly unmarkedStart?: boolean };
  /** The first one is indexed. */
  readonly audio: readonly { readonly streamIndex: number }[];
}

/** Reads the index stored under `key`, or has a media process index the file at `path` and stores the result. */
export const readIndex = async (
  context: FileContext,
  key: string,
  path: string,
  source: IndexedStreams,
): Promise<SourceIndex> => {
  const stored = await context.blobs.read(key);
  if (stored) return decodeSourceIndex(await buffer(stored));
  const bytes = await makeIndex(context, { path }, source);
  // Checked before it is stored: an unreadable index would fail every later run too.
  const index = decodeSourceIndex(bytes);
  await context.blobs.put(key, bytes);
  return index;
};

/** Indexes a file. For an incomplete file this works only if its tables are sufficient. */
export const makeIndex = (
  { pool, temporaryDir, signal }: FileContext,
  file: MediaSource,
  source: IndexedStreams,
): Promise<Buffer> =>
  withTemporaryFile(temporaryDir, async (outPath) => {
    const job = {
      kind: 'index',
      source: sourceOf(file, source.formatName),
      ...(source.video && { videoStreamIndex: source.video.streamIndex }),
      ...(source.video?.unmarkedStart && { unmarkedStart: true }),
      ...(source.audio[0] && { audioStreamIndex: source.audio[0].streamIndex }),
      outPath,
    } as const;
    await pool.run(job, { priority: mediaPriority.warmUp, signal });
    return readResult(outPath, MAX_INDEX_BYTES);
  });
