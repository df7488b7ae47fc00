import type { SourceFile } from '../../early/file/context.js';
import type { Problem } from '../../early/file/find-problem.js';
import { readIndex } from '../../early/file/read-index.js';
import { KinoraError } from '../../lib/errors.js';
import { createLinkedAbort } from '../../lib/linked-abort.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import { writeIndexedHead } from '../../media/mp4/segment-index.js';
import type { MezzanineVideo } from '../../media/plan/find-start.js';
import type { ResolutionTier } from '../../media/plan/ladder.js';
import { planMezzanine } from '../../media/plan/mezzanine-plan.js';
import { rejections } from '../../media/source/rejections.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { MezzanineResult } from '../../pool/protocol.js';
import { streamResult } from '../../pool/read-result.js';
import type { BlobWrite } from '../../storage/blob-store.js';
import { mezzanineIndexKey, mezzanineKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { rejectTranscoding } from './long-work.js';

export interface MezzanineInput {
  readonly assetId: string;
  readonly path: string;
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  /** Key frames can't be trusted as cutting points. */
  readonly sequential: boolean;
  readonly tier: ResolutionTier;
  /** 0 to 1; never decreases. */
  readonly onProgress: (fraction: number) => void;
}

/** The time limit for one chunk: hours of 4K on a slow machine, but not forever. */
const CHUNK_DEADLINE_MS = 12 * 3600_000;

/** Makes the mezzanine of an asset and reports progress. */
export const transcode = async (
  context: IngestContext,
  { path, facts, settings: { maxResolutionTier: tier } }: SourceFile,
  index: SourceIndex,
  { reason, sequential }: Problem,
): Promise<MezzanineVideo> => {
  const { assetId, state, signal, logger } = context;
  await rejectTranscoding(context, reason);
  logger.info({ reason, sequential }, 'mezzanine needed');
  await state.setProgress(assetId, 'transcoding', 0);
  let percent = 0;
  let written = 0;
  let writing: Promise<void> | undefined;
  // One write at a time: on two connections, the first could be the last to arrive.
  const write = async (): Promise<void> => {
    while (written < percent && !signal.aborted) {
      written = percent;
      await state.setProgress(assetId, 'transcoding', written).catch((error: unknown) => {
        // This is only for display; the next percent is written again.
        logger.warn({ err: error }, 'progress not stored');
      });
    }
    writing = undefined;
  };
  const onProgress = (fraction: number): void => {
    const now = Math.floor(fraction * 100);
    if (now <= percent) return;
    percent = now;
    writing ??= write();
  };
  const making = makeMezzanine(context, { assetId, path, facts, index, sequential, tier, onProgress });
  const mezzanine = await making.finally(() => writing);
  await state.setProgress(assetId, 'ingesting', 0);
  return mezzanine;
};

/**
 * Re-encodes the frames once, in parallel chunks that are cut at key frames if these can be
 * trusted, and stores the result. A finished mezzanine of an earlier run is used.
 */
export const makeMezzanine = async (context: IngestContext, input: MezzanineInput): Promise<MezzanineVideo> => {
  const { blobs, parallel } = context;
  const { assetId } = input;
  const plan = planMezzanine(input.facts, input.index, input.tier, input.sequential ? 1 : parallel * 4);
  if (!(await blobs.stat(mezzanineKey(assetId)))) await encode(context, input, plan);
  const stored = await blobs.openLocal(mezzanineKey(assetId));
  try {
    const index = await readIndex(context, mezzanineIndexKey(assetId), stored, {
      formatName: 'mov,mp4,m4a,3gp,3g2,mj2',
      video: { streamIndex: 0 },
      audio: [],
    });
    if (!index.video || index.video.pts.length === 0)
      throw new KinoraError('invalid_input', {
        messages: [rejections.damagedBy('no frame of its video can be decoded')],
      });
    const { width, height, timeBase } = plan;
    // MP4 times are in fractions of a second, whatever the clock of the source.
    return { index: index.video, width, height, timeBase: { num: 1, den: timeBase.den } };
  } finally {
    await stored.release();
  }
};

const encode = async (
  { blobs, pool, temporaryDir, signal }: IngestContext,
  { assetId, path, facts, onProgress }: MezzanineInput,
  plan: ReturnType<typeof planMezzanine>,
): Promise<void> => {
  const { chunks, ...common } = plan;
  const fractions = chunks.map(() => 0);
  const total = chunks.reduce((sum, { weight }) => sum + weight, 0);
  const report = () =>
    onProgress(fractions.reduce((sum, fraction, chunk) => sum + fraction * chunks[chunk]!.weight, 0) / total);

  const target = await blobs.resumeWrite(mezzanineKey(assetId));
  try {
    await target.restart();
    await withTemporaryFiles(temporaryDir, chunks.length, async (paths) => {
      using failed = createLinkedAbort(signal);
      const running = chunks.map(({ weight: _weight, ...chunk }, number) =>
        pool.run(
          {
            kind: 'mezzanine',
            source: { path, formatName: facts.formatName },
            streamIndex: facts.video!.streamIndex,
            ...common,
            ...chunk,
            threads: chunks.length === 1 ? 2 : 1,
            outPath: paths[number]!,
          },
          {
            priority: mediaPriority.background,
            signal: failed.signal,
            deadlineMs: CHUNK_DEADLINE_MS,
            onProgress: (fraction) => {
              fractions[number] = fraction;
              report();
            },
          },
        ),
      );
      let results: MezzanineResult[];
      try {
        results = await Promise.all(running);
      } catch (error) {
        failed.abort();
        await Promise.allSettled(running);
        throw error;
      }
      await join(target, plan.timeBase.den, paths, results);
    });
    await target.commit();
  } catch (error) {
    await target.discard();
    throw error;
  }
};

/** Writes an index of all fragments, and the fragments. */
const join = async (
  target: BlobWrite,
  timescale: number,
  paths: readonly string[],
  results: readonly MezzanineResult[],
): Promise<void> => {
  const init = Buffer.from(results[0]!.init, 'base64');
  const fragments = results.flatMap((result) => result.fragments);
  await target.write(writeIndexedHead(init, timescale, fragments));
  const headBytes = target.offsetBytes;
  for (const path of paths) for await (const bytes of await streamResult(path)) await target.write(bytes);
  // The process's report is not trusted: an index of other bytes would lead the demuxer astray.
  if (target.offsetBytes - headBytes !== fragments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))
    throw new KinoraError('media_failed', { details: { kind: 'mezzanine', reason: 'fragments of other sizes' } });
};

const withTemporaryFiles = <T>(dir: string, count: number, task: (paths: string[]) => Promise<T>): Promise<T> =>
  count === 0
    ? task([])
    : withTemporaryFile(dir, (path) => withTemporaryFiles(dir, count - 1, (paths) => task([path, ...paths])));
