import { isKinoraError } from '../../lib/errors.js';
import { bitrateScale, pickSamplePositions, SAMPLE_BOX } from '../../media/plan/bitrate-scale.js';
import { fitInto } from '../../media/plan/ladder.js';
import { decideAccess } from '../../media/plan/mezzanine-decision.js';
import type { VideoPlan } from '../../media/plan/plan.js';
import { type AssetSettings, type PlanInput, planAsset } from '../../media/plan/plan-asset.js';
import type { StreamIndex } from '../../media/source/source-index.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { mezzanineKey } from '../../storage/keys.js';
import type { Logger } from '../../telemetry/logger.js';

interface FitDeps {
  readonly blobs: BlobStore;
  readonly pool: MediaPool;
  readonly logger: Logger;
}

/**
 * The settings of an asset with the share of the ladder's rates that its frames need: in quality `plus`, where a few short
 * samples are encoded to learn it. What has to be read from a mezzanine is measured once that is there.
 */
export const fitToContent = async (
  deps: FitDeps,
  { assetId, path, ...input }: PlanInput & { readonly assetId: string; readonly path: string },
  signal: AbortSignal,
): Promise<AssetSettings> => {
  const { facts, index, settings, mezzanine } = input;
  if (settings.quality !== 'plus' || settings.isTest) return settings;
  if (!mezzanine && decideAccess(facts, index).access === 'mezzanine') return settings;
  const { video } = planAsset(input);
  const videoIndex = mezzanine?.index ?? index.video;
  if (!video || !videoIndex) return settings;
  const blob = mezzanine && (await deps.blobs.openLocal(mezzanineKey(assetId)));
  try {
    const scale = await measure(deps.pool, blob?.path ?? path, video, videoIndex, signal);
    deps.logger.info({ bitrate_scale: scale }, 'the frames are measured');
    return { ...settings, bitrateScale: scale };
  } catch (error) {
    // Damage where a sample was: the rates of the table fit everything.
    if (!isKinoraError(error, 'media_failed') && !isKinoraError(error, 'media_crashed')) throw error;
    deps.logger.info({ err: error }, 'the frames could not be measured');
    return settings;
  } finally {
    await blob?.release();
  }
};

const measure = async (
  pool: MediaPool,
  path: string,
  video: VideoPlan,
  index: StreamIndex,
  signal: AbortSignal,
): Promise<number> => {
  const { formatName, streamIndex, timeBase, frameRate, renditions } = video;
  const places = pickSamplePositions(index, formatName, timeBase);
  const encoder = renditions.find((rendition) => rendition.encoder !== undefined)?.encoder;
  // Nothing that could be fitted.
  if (!encoder || places.length === 0) return 1;
  const { overlays: _overlays, ...filters } = video.filters;
  const size = fitInto(renditions.at(-1)!, SAMPLE_BOX);
  const { preset, crf } = encoder;
  const { samples } = await pool.run(
    {
      kind: 'complexity',
      source: { path, formatName },
      streamIndex,
      timeBase,
      places,
      ...size,
      frameRate,
      filters,
      encoder: { preset, crf },
    },
    { priority: mediaPriority.warmUp, signal },
  );
  return bitrateScale(samples, size);
};
