import { chooseEmbedded, NOTHING_EMBEDDED } from '../../domain/tracks/embedded-tracks.js';
import { KinoraError } from '../../lib/errors.js';
import { describeReadyAsset } from '../../media/plan/asset-properties.js';
import { planChapters } from '../../media/plan/plan-chapters.js';
import { describeWarnings } from '../../media/plan/source-warnings.js';
import type { IngestContext } from './context.js';
import type { Planned } from './plan.js';

/** Makes the asset ready, with its tracks, and has the images made that players show first. */
export const makeReady = async (context: IngestContext, { plan, facts }: Planned, startedMs: number): Promise<void> => {
  const { assetId, state, clock, logger, images } = context;
  const { asset, media, mainInput } = context.row;
  const wantsTracks = mainInput.settings.embedded_tracks ?? context.usesEmbeddedTracks;
  // A clip has the tracks of its source, which has also reported what is left out.
  const embedded = media.clip ? NOTHING_EMBEDDED : chooseEmbedded(facts, plan, wantsTracks === true);
  const completed = await state.complete(assetId, {
    properties: describeReadyAsset(plan, facts),
    facts,
    inputSettings: mainInput.settings,
    embedded,
    chapters: planChapters(facts.chapters ?? [], plan),
    warnings: media.clip ? [] : [...describeWarnings(facts, plan), ...embedded.warnings],
  });
  if (!completed) throw new KinoraError('not_found');
  const elapsedMs = Math.round(clock.monotonicMs() - startedMs);
  logger.info({ elapsed_ms: elapsedMs, duration_s: plan.durationSeconds }, 'asset ready');
  images.warmPoster({ id: assetId, plan }, asset.thumbnail_time ?? undefined);
  images.warmStoryboard({ id: assetId, plan });
};
