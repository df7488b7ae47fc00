import type { SourceFacts } from '../../media/source/source-facts.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { encodeSourceIndex } from '../../media/source/source-index-codec.js';
import { mediaPriority } from '../../pool/media-pool.js';
import { streamResult } from '../../pool/read-result.js';
import { type IndexDeps, readIndex } from './read-index.js';
import { withTemporaryFile } from './temporary-file.js';

export interface ConcatenatedSource {
  readonly path: string;
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
}

export interface RecordedSource {
  readonly path: string;
  readonly facts: SourceFacts;
  /** Where the copy and its index are stored. */
  readonly concatenated: { readonly key: string; readonly indexKey: string };
}

/**
 * Calls `use` with a copy of an MPEG stream in which several recordings, between which the clock jumps, are laid end to
 * end and wrong time stamps are replaced; undefined when the file is one recording without such. A finished copy of an
 * earlier run is used as it is.
 */
export const withConcatenatedRecordings = async <T>(
  deps: IndexDeps,
  source: RecordedSource,
  probe: (path: string) => Promise<SourceFacts>,
  signal: AbortSignal,
  use: (concatenated: ConcatenatedSource | undefined) => Promise<T>,
): Promise<T> => {
  const { key, indexKey } = source.concatenated;
  if (!(await deps.blobs.stat(key)) && !(await concatenate(deps, source, probe, signal))) return use(undefined);
  const blob = await deps.blobs.openLocal(key);
  try {
    const facts = await probe(blob.path);
    const index = await readIndex(deps, indexKey, blob.path, facts, signal);
    return await use({ path: blob.path, facts, index });
  } finally {
    await blob.release();
  }
};

const concatenate = (
  deps: IndexDeps,
  { concatenated: { key, indexKey }, path, facts }: RecordedSource,
  probe: (path: string) => Promise<SourceFacts>,
  signal: AbortSignal,
): Promise<boolean> =>
  withTemporaryFile(deps.temporaryDir, async (outPath) => {
    const streams = [facts.video, facts.audio[0]].filter((stream) => stream !== undefined);
    const { recordings, wrongTimes } = await deps.pool.run(
      {
        kind: 'concatenate',
        source: { path, formatName: facts.formatName },
        streamIndexes: streams.map(({ streamIndex }) => streamIndex),
        outPath,
      },
      { priority: mediaPriority.warmUp, signal },
    );
    if (recordings < 2 && wrongTimes === 0) return false;
    const index = await readIndex(deps, indexKey, outPath, await probe(outPath), signal);
    // Where times were wrong, frames may be too: they are read once in order.
    if (wrongTimes > 0) await deps.blobs.put(indexKey, encodeSourceIndex({ ...index, discontinuous: true }));
    const target = await deps.blobs.resumeWrite(key);
    try {
      await target.restart();
      for await (const bytes of await streamResult(outPath)) await target.write(bytes);
      await target.commit();
    } catch (error) {
      await target.discard();
      throw error;
    }
    return true;
  });
