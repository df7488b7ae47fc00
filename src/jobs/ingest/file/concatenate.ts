import type { FileContext } from '../../../early/file/context.js';
import { probeFile } from '../../../early/file/probe-file.js';
import { readIndex } from '../../../early/file/read-index.js';
import { withTemporaryFile } from '../../../lib/temporary-file.js';
import type { SourceFacts } from '../../../media/source/source-facts.js';
import type { SourceIndex } from '../../../media/source/source-index.js';
import { encodeSourceIndex } from '../../../media/source/source-index-codec.js';
import { mediaPriority } from '../../../pool/media-pool.js';
import { streamResult } from '../../../pool/read-result.js';

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
 * Calls `use` with a copy of an MPEG stream whose clock jumps between recordings: the copy plays
 * them one after the other and has plausible time stamps. Returns undefined when the file is one
 * recording without wrong times. A finished copy of an earlier run is used.
 */
export const withConcatenatedRecordings = async <T>(
  context: FileContext,
  source: RecordedSource,
  use: (concatenated: ConcatenatedSource | undefined) => Promise<T>,
): Promise<T> => {
  const { key, indexKey } = source.concatenated;
  if (!(await context.blobs.stat(key)) && !(await concatenate(context, source))) return use(undefined);
  const blob = await context.blobs.openLocal(key);
  try {
    const facts = await probeFile(context, blob);
    const index = await readIndex(context, indexKey, blob, facts);
    return await use({ path: blob.path, facts, index });
  } finally {
    await blob.release();
  }
};

const concatenate = (
  context: FileContext,
  { concatenated: { key, indexKey }, path, facts }: RecordedSource,
): Promise<boolean> =>
  withTemporaryFile(context.temporaryDir, async (outPath) => {
    const streams = [facts.video, facts.audio[0]].filter((stream) => stream !== undefined);
    const { recordings, wrongTimes } = await context.pool.run(
      {
        kind: 'concatenate',
        source: { path, formatName: facts.formatName },
        streamIndexes: streams.map(({ streamIndex }) => streamIndex),
        outPath,
      },
      { priority: mediaPriority.warmUp, signal: context.signal },
    );
    if (recordings < 2 && wrongTimes === 0) return false;
    const index = await readIndex(context, indexKey, { path: outPath }, await probeFile(context, { path: outPath }));
    // If times were wrong, frames may be too, so they are read once in order.
    if (wrongTimes > 0) await context.blobs.put(indexKey, encodeSourceIndex({ ...index, discontinuous: true }));
    const target = await context.blobs.resumeWrite(key);
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
