import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { SourceIndex } from '../../media/source-index.js';
import { decodeSourceIndex } from '../../media/source-index-codec.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { withTemporaryFile } from './temporary-file.js';

export interface IndexDeps {
  readonly blobs: BlobStore;
  readonly pool: MediaPool;
  readonly temporaryDir: string;
}

/** The part of `SourceFacts` that says which streams to index. */
export interface IndexedStreams {
  readonly formatName: string;
  readonly video?: { readonly streamIndex: number };
  /** The first one is indexed. */
  readonly audio: readonly { readonly streamIndex: number }[];
}

/** The stored index under `key`, or one demux pass over the file at `path`, stored for the next run. */
export const readIndex = async (
  deps: IndexDeps,
  key: string,
  path: string,
  source: IndexedStreams,
  signal: AbortSignal,
): Promise<SourceIndex> => {
  const stored = await deps.blobs.read(key);
  if (stored) return decodeSourceIndex(await buffer(stored));
  const bytes = await withTemporaryFile(deps.temporaryDir, async (outPath) => {
    await deps.pool.run(
      {
        kind: 'index',
        source: { path, formatName: source.formatName },
        ...(source.video && { videoStreamIndex: source.video.streamIndex }),
        ...(source.audio[0] && { audioStreamIndex: source.audio[0].streamIndex }),
        outPath,
      },
      { priority: mediaPriority.warmUp, signal },
    );
    return readFile(outPath);
  });
  const index = decodeSourceIndex(bytes);
  await deps.blobs.put(key, bytes);
  return index;
};
