import type { CachedFile, SegmentStore } from '../cache/segment-store.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { parseStoryboardFormat, parseStoryboardWindow, parseThumbnailParameters } from '../media/image/parameters.js';
import { planStoryboard } from '../media/image/storyboard.js';
import { verifyImage } from '../media/image/verifier.js';
import { GENERATION } from '../media/plan/generation.js';
import type { Plan } from '../media/plan/plan.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import type { MediaJob } from '../pool/protocol.js';
import { readResult } from '../pool/read-result.js';
import type { BlobStore } from '../storage/blob-store.js';
import { createFileMaker } from './file-maker.js';
import { displayedSpans, imageFile, type PlannedImage, planSpriteSheet, planThumbnail } from './image-jobs.js';
import { openFrames } from './open-frames.js';
import { type PlayableAsset, videoFileOf } from './playable-asset.js';
import type { SegmentRequest } from './produce-segment.js';
import { readSource } from './read-source.js';
import { MEDIA_THREADS } from './segment-jobs.js';
import type { SourceRanges } from './source-ranges.js';

export interface ImageProducer {
  /**
   * Returns the image from the cache or makes it; equal images are made once.
   * @throws KinoraError `not_found` (no video in the asset), `media_failed`, `media_crashed`, `cancelled`,
   * `unavailable`
   */
  image(asset: PlayableAsset, image: PlannedImage, request?: SegmentRequest): Promise<CachedFile>;
  /**
   * Makes the image that players show before playback, when no other work is waiting. `seconds` is the asset's
   * default thumbnail time.
   */
  warmPoster(asset: PlayableAsset, seconds?: number): void;
  /**
   * Makes the sprite sheet that players show over the time slider, when no other work is waiting and sources are on this
   * machine. At most `MAX_WARM_SHEETS` wait; others, and those that a restart drops, are made when a player asks. It is not a job of the
   * queue, because the cache may lose every image and make it again.
   */
  warmStoryboard(asset: PlayableAsset): void;
}

export interface ImageProducerDeps {
  readonly store: SegmentStore;
  readonly pool: MediaPool;
  readonly blobs: BlobStore;
  /** Throws `unavailable` for a plan by which nothing may be made any more. */
  readonly throwIfWithdrawn: (plan: Plan) => void;
  readonly sourceRanges: SourceRanges;
  readonly clock: Clock;
}

/** The largest lossless still: 4096 x 4096 of noise. */
const MAX_IMAGE_BYTES = 64 * 2 ** 20;
/** A sheet takes seconds of processor time; many files that arrive at once don't keep a server busy with them. */
const MAX_WARM_SHEETS = 8;
/** These take seconds each. A request that finds this many waiting is refused immediately. */
const MAX_WAITING_LONG = 64;

export const createImageProducer = ({
  store,
  pool,
  blobs,
  throwIfWithdrawn,
  sourceRanges,
  clock,
}: ImageProducerDeps): ImageProducer => {
  const maker = createFileMaker({ store, pool, clock });
  let waitingLong = 0;
  let warmSheets = 0;

  const producer: ImageProducer = {
    async image(asset, image, { signal, priority } = {}) {
      const { video } = asset.plan;
      if (!video) throw new KinoraError('not_found');
      const key = { assetId: asset.id, plan: GENERATION, rendition: 'images', file: imageFile(image) };
      const isLong = image.job.kind !== 'still';
      if (isLong && waitingLong >= MAX_WAITING_LONG && !store.has(key))
        throw new KinoraError('unavailable', { details: { reason: 'too many viewers wait' } });
      waitingLong += isLong ? 1 : 0;
      try {
        return await maker.make({
          key,
          keys: [key],
          source: videoFileOf(asset),
          // A still takes only a moment; other images wait behind the segments that viewers wait for.
          priority: priority ?? (isLong ? mediaPriority.warmUp : mediaPriority.viewer),
          ...(signal && { signal }),
          produce: async ({ run, production }) => {
            throwIfWithdrawn(asset.plan);
            const needed = await sourceRanges.ofVideo(asset, displayedSpans(image.job, video));
            await readSource(
              (ranges) => openFrames(blobs, asset, ranges),
              needed,
              async (frames) => {
                const outPath = production.temporaryPath();
                const source = { ...frames.source, formatName: video.formatName };
                const { overlayPaths } = frames;
                await run({
                  ...image.job,
                  source,
                  filters: video.filters,
                  overlayPaths,
                  threads: MEDIA_THREADS,
                  outPath,
                } as MediaJob);
                const bytes = await readResult(outPath, MAX_IMAGE_BYTES);
                verifyImage(bytes, image.job.format, image.size);
                await production.commit(key, bytes);
              },
            );
          },
        });
      } finally {
        waitingLong -= isLong ? 1 : 0;
      }
    },
    warmPoster(asset, seconds) {
      const { video, durationSeconds } = asset.plan;
      if (!video) return;
      const poster = planThumbnail(video, parseThumbnailParameters({}), seconds ?? durationSeconds / 2, 'webp');
      // Nobody has requested it yet; a request will try again and get its own error.
      producer.image(asset, poster, { priority: mediaPriority.background }).catch(() => undefined);
    },
    warmStoryboard(asset) {
      const { video, durationSeconds } = asset.plan;
      // Its frames are spread over the file, of which a copy from a bucket has only parts.
      if (!video || !blobs.isLocal || warmSheets >= MAX_WARM_SHEETS) return;
      const storyboard = planStoryboard(video, parseStoryboardWindow({}, durationSeconds));
      const sheet = planSpriteSheet(video, storyboard, parseStoryboardFormat(undefined));
      warmSheets += 1;
      producer
        .image(asset, sheet, { priority: mediaPriority.background })
        // Nobody has requested it yet; a request will try again and get its own error.
        .catch(() => undefined)
        .finally(() => {
          warmSheets -= 1;
        });
    },
  };
  return producer;
};
