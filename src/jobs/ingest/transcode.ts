import type { SourceFile } from '../../early/file/context.js';
import type { Problem } from '../../early/file/find-problem.js';
import type { MezzanineVideo } from '../../media/plan/plan-asset.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import type { IngestContext } from './context.js';
import { refuseTranscoding } from './long-work.js';
import { makeMezzanine } from './make-mezzanine.js';

/** Makes the mezzanine of an asset and reports progress. */
export const transcode = async (
  context: IngestContext,
  { path, facts, settings: { maxResolutionTier: tier } }: SourceFile,
  index: SourceIndex,
  { reason, sequential }: Problem,
): Promise<MezzanineVideo> => {
  const { assetId, state, signal, logger } = context;
  await refuseTranscoding(context, reason);
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
  const work = makeMezzanine(context, { assetId, path, facts, index, sequential, tier, onProgress });
  const mezzanine = await work.finally(() => writing);
  await state.setProgress(assetId, 'ingesting', 0);
  return mezzanine;
};
