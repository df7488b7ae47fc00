import { reject } from '../../early/file/probe-file.js';
import { throwIfAborted } from '../../lib/abort.js';
import { KinoraError } from '../../lib/errors.js';
import type { ClipSource, LiveClip } from '../../media/plan/clip.js';
import type { IngestContext } from './context.js';

/**
 * Gives a clip of a broadcast its files: those of the finished recording if it has a plan by now,
 * else a file of its own, which is cut out of what is recorded. A later run cuts it again unless
 * the result was saved.
 */
export const storeLiveClip = async (context: IngestContext, clip: LiveClip): Promise<IngestContext> => {
  const { assetId, row, state, signal } = context;
  const linked = await state.linkSource(row.asset, clip);
  if (linked === 'missing') return reject('The source asset is no longer available.');
  if (linked === 'unplanned') await cutOut(context, clip);
  throwIfAborted(signal);
  const current = await state.find(assetId);
  if (!current) throw new KinoraError('not_found');
  const { startSeconds, endSeconds = startSeconds } = current.media.clip as unknown as ClipSource;
  // Slates at the end are not part of it.
  if (startSeconds >= endSeconds) return reject('The recording ends before the clip begins.');
  return { ...context, row: current };
};

const cutOut = async ({ assetId, clock, live, logger, state }: IngestContext, clip: LiveClip): Promise<void> => {
  const { liveStreamId, liveAssetId, startSeconds, endSeconds } = clip;
  const startedMs = clock.monotonicMs();
  const range = { liveStreamId, assetId: liveAssetId, clipId: assetId, startSeconds, endSeconds };
  const originSeconds = await live.copyRange(range);
  // The broadcast is over, and its ingest is not, or its server has just started.
  if (originSeconds === undefined)
    throw new KinoraError('unavailable', { details: { reason: 'the source asset has no plan yet' } });
  const zero = { num: -originSeconds, den: 1 };
  await state.saveOwnClip(assetId, { startSeconds, endSeconds, zero, overlays: [], own: true });
  const cut_ms = Math.round(clock.monotonicMs() - startedMs);
  logger.info({ source_asset_id: liveAssetId, cut_ms }, 'clip cut out of a broadcast');
};
