// Answers what the plan is: which bitrates the frames need.

import { isKinoraError } from '../../lib/errors.js';
import { bitrateScale, pickSamplePositions, SAMPLE_BOX } from '../../media/plan/bitrate-scale.js';
import { fitInto } from '../../media/plan/ladder.js';
import type { VideoPlan } from '../../media/plan/plan.js';
import type { DraftPlan } from '../../media/plan/plan-asset.js';
import type { StreamIndex } from '../../media/source/source-index.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { MediaSource } from '../../pool/protocol.js';
import { mezzanineKey } from '../../storage/keys.js';
import type { Logger } from '../../telemetry/logger.js';
import type { FileContext, SourceFile } from './context.js';
import { sourceOf } from './probe-file.js';

interface MeasureContext extends Pick<FileContext, 'blobs' | 'pool' | 'signal'> {
  readonly assetId: string;
  readonly logger: Logger;
}

/**
 * The factor for the ladder's bitrates. In quality `plus` it is measured by encoding a few short
 * samples. `index` is that of the stream that the plan reads.
 */
export const measureBitrateScale = async (
  context: MeasureContext,
  file: SourceFile,
  { plan: { video } }: DraftPlan,
  index: StreamIndex | undefined,
): Promise<number | undefined> => {
  const { assetId, blobs, logger } = context;
  const { settings } = file;
  if (settings.quality !== 'plus' || settings.isTest || !video || !index) return undefined;
  const mezzanine = video.access === 'mezzanine' ? await blobs.openLocal(mezzanineKey(assetId)) : undefined;
  try {
    const scale = await measure(context, mezzanine ?? file, video, index);
    logger.info({ bitrate_scale: scale }, 'content complexity measured');
    return scale;
  } catch (error) {
    // A sample was damaged: the rates of the table suit everything.
    if (!isKinoraError(error, 'media_failed') && !isKinoraError(error, 'media_crashed')) throw error;
    logger.info({ err: error }, 'content complexity measurement failed');
    return undefined;
  } finally {
    await mezzanine?.release();
  }
};

const measure = async (
  { pool, signal }: MeasureContext,
  file: MediaSource,
  video: VideoPlan,
  index: StreamIndex,
): Promise<number> => {
  const { formatName, streamIndex, timeBase, frameRate, renditions } = video;
  const positions = pickSamplePositions(index, formatName, timeBase);
  const encoder = renditions.find((rendition) => rendition.encoder !== undefined)?.encoder;
  // There is no rate to adjust.
  if (!encoder || positions.length === 0) return 1;
  const { overlays: _overlays, ...filters } = video.filters;
  const size = fitInto(renditions.at(-1)!, SAMPLE_BOX);
  const { preset, crf } = encoder;
  const { samples } = await pool.run(
    {
      kind: 'complexity',
      source: sourceOf(file, formatName),
      streamIndex,
      timeBase,
      positions,
      ...size,
      frameRate,
      filters,
      encoder: { preset, crf },
    },
    { priority: mediaPriority.warmUp, signal },
  );
  return bitrateScale(samples, size);
};
