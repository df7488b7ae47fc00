import type { CacheKey } from '../cache/cache-key.js';
import { MIN_PEAK_SECONDS } from '../media/plan/grid.js';
import type { VideoPlan, VideoRendition } from '../media/plan/plan.js';
import type { SegmentLoss } from '../media/plan/source-warnings.js';
import { readResult } from '../pool/read-result.js';
import type { BlobStore } from '../storage/blob-store.js';
import type { Logger } from '../telemetry/logger.js';
import type { FileTask } from './file-producer.js';
import { OpenFrames } from './open-frames.js';
import type { PlayableAsset } from './playable-asset.js';
import { readSource } from './read-source.js';
import { tighterEncoder, videoSegmentJob } from './segment-jobs.js';
import type { SourceRanges } from './source-ranges.js';
import { MAX_SEGMENT_BYTES, verifyVideoSegment } from './verify-segment.js';

export interface VideoSegmentDeps {
  readonly blobs: BlobStore;
  readonly sourceRanges: SourceRanges;
  readonly logger: Logger;
  /**
   * Called with what a segment lacks. The segment is only stored when this has resolved; it must
   * not reject.
   */
  readonly onFramesLost?: (assetId: string, loss: SegmentLoss) => Promise<void>;
}

interface VideoSegment {
  readonly asset: PlayableAsset;
  readonly video: VideoPlan;
  readonly rendition: VideoRendition;
  readonly number: number;
}

const MAX_SIZE_TRIES = 4;
/**
 * A shorter last segment is the whole video; its bit rate does not matter.
 */
const MIN_LAST_PEAK_SECONDS = 1;
const FRAMES = { video: true, audio: false };

/** Encodes or copies one segment of a video rendition and commits it. */
export const packageVideoSegment = async (
  { blobs, sourceRanges, logger, onFramesLost }: VideoSegmentDeps,
  segment: VideoSegment,
  key: CacheKey,
  task: FileTask,
): Promise<void> => {
  const { asset, video, number } = segment;
  const [fromSeconds, untilSeconds] = [number, number + 1].map(
    (boundary) => video.boundaries[boundary]! / video.timescale,
  ) as [number, number];
  const needed = await sourceRanges.ofVideo(asset, [{ streams: FRAMES, fromSeconds, untilSeconds }]);
  await readSource(
    (ranges) => OpenFrames.open(blobs, asset, ranges),
    needed,
    async (frames) => {
      const { bytes, missing } = await encodeWithinBandwidth(segment, frames, untilSeconds - fromSeconds, task, logger);
      if (missing !== 0) {
        logger.warn({ asset_id: asset.id, segment: number, missing }, 'segment frame count differs from plan');
      }
      if (missing > 0) await onFramesLost?.(asset.id, { frames: missing, fromSeconds, untilSeconds });
      await task.production.commit(key, bytes);
    },
  );
};

/** Encodes again, with fewer bits, what exceeds the bandwidth that the playlist promises. */
const encodeWithinBandwidth = async (
  { asset, video, rendition, number }: VideoSegment,
  { source, overlayPaths }: OpenFrames,
  seconds: number,
  task: FileTask,
  logger: Logger,
): Promise<{ readonly bytes: Uint8Array; readonly missing: number }> => {
  let encoder = rendition.encoder;
  const isLast = number + 2 === video.boundaries.length;
  const peakSeconds = Math.max(seconds, isLast ? MIN_LAST_PEAK_SECONDS : MIN_PEAK_SECONDS);
  for (let attempt = 1; ; attempt++) {
    const outPath = task.production.temporaryPath();
    const target = { source, overlayPaths, outPath, ...(encoder && { encoder }) };
    const result = await task.submit(videoSegmentJob(video, rendition, number, target));
    const bytes = await readResult(outPath, MAX_SEGMENT_BYTES);
    const missing = verifyVideoSegment(bytes, video, rendition, number, result);
    const factor = (bytes.length * 8) / peakSeconds / rendition.bandwidth;
    if (factor <= 1 || !encoder) return { bytes, missing };
    const fields = { asset_id: asset.id, rendition: rendition.name, segment: number, factor, attempt };
    if (attempt === MAX_SIZE_TRIES) {
      // Larger than promised is still better for a viewer than a hole.
      logger.warn(fields, 'segment still exceeds bandwidth');
      return { bytes, missing };
    }
    logger.info(fields, 'segment exceeds bandwidth, encoding again');
    encoder = tighterEncoder(encoder, factor, attempt);
  }
};
