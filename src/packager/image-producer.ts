import type { CachedFile } from '../cache/cached-files.js';
import type { SegmentStore } from '../cache/segment-store.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { parseStoryboardFormat, parseStoryboardWindow, parseThumbnailParameters } from '../media/image/parameters.js';
import { planStoryboard } from '../media/image/storyboard.js';
import { verifyImage } from '../media/image/verifier.js';
import { GENERATION } from '../media/plan/generation.js';
import type { Plan, VideoPlan } from '../media/plan/plan.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import type { MediaJob } from '../pool/protocol.js';
import { readResult } from '../pool/read-result.js';
import type { BlobStore } from '../storage/blob-store.js';
import { FileProducer, type FileTask } from './file-producer.js';
import { displayedSpans, imageFile, type PlannedImage, planSpriteSheet, planThumbnail } from './image-jobs.js';
import { OpenFrames } from './open-frames.js';
import { type PlayableAsset, videoFileOf } from './playable-asset.js';
import { readSource } from './read-source.js';
import { MEDIA_THREADS } from './segment-jobs.js';
import type { SegmentRequest } from './segment-producer.js';
import type { SourceRanges } from './source-ranges.js';

export interface ImageProducerDeps {
  readonly cache: SegmentStore;
  readonly pool: MediaPool;
  readonly blobs: BlobStore;
  /** Throws `unavailable` for a plan by which nothing may be produced any more. */
  readonly throwIfWithdrawn: (plan: Plan) => void;
  readonly sourceRanges: SourceRanges;
  readonly clock: Clock;
}

/** The largest lossless still: 4096 x 4096 of noise. */
const MAX_IMAGE_BYTES = 64 * 2 ** 20;
/**
 * A sheet takes seconds of processor time; many files that arrive at once don't keep a server busy
 * with them.
 */
const MAX_WARM_SHEETS = 8;
/** These take seconds each. A request that finds this many waiting is rejected immediately. */
const MAX_WAITING_LONG = 64;

/** Produces thumbnails, animations and storyboards. */
export class ImageProducer {
  private readonly files: FileProducer;
  private waitingLong = 0;
  private warmSheets = 0;

  constructor(private readonly deps: ImageProducerDeps) {
    this.files = new FileProducer(deps.cache, deps.pool, deps.clock);
  }

  /**
   * Returns the image from the cache or produces it; equal images are produced once.
   * @throws KinoraError `not_found` (no video in the asset), `media_failed`, `media_crashed`,
   * `cancelled`, `unavailable`
   */
  async image(
    asset: PlayableAsset,
    image: PlannedImage,
    { signal, priority }: SegmentRequest = {},
  ): Promise<CachedFile> {
    const { video } = asset.plan;
    if (!video) throw new KinoraError('not_found');
    const key = { assetId: asset.id, plan: GENERATION, rendition: 'images', file: imageFile(image) };
    const isLong = image.job.kind !== 'still';
    if (isLong && this.waitingLong >= MAX_WAITING_LONG && !this.deps.cache.has(key))
      throw new KinoraError('unavailable', { details: { reason: 'too many viewers wait' } });
    this.waitingLong += isLong ? 1 : 0;
    try {
      return await this.files.get({
        key,
        keys: [key],
        source: videoFileOf(asset),
        // A still takes only a moment; other images wait behind the segments that viewers wait for.
        priority: priority ?? (isLong ? mediaPriority.warmUp : mediaPriority.viewer),
        signal,
        packageFiles: async (task) => {
          await task.production.commit(key, await this.encode(asset, video, image, task));
        },
      });
    } finally {
      this.waitingLong -= isLong ? 1 : 0;
    }
  }

  /**
   * Produces the image that players show before playback, when no other work is waiting. `seconds`
   * is the asset's default thumbnail time.
   */
  warmPoster(asset: PlayableAsset, seconds?: number): void {
    const { video, durationSeconds } = asset.plan;
    if (!video) return;
    const poster = planThumbnail(video, parseThumbnailParameters({}), seconds ?? durationSeconds / 2, 'webp');
    void this.warm(asset, poster);
  }

  /**
   * Produces the sprite sheet that players show over the time slider, when no other work is waiting
   * and sources are on this machine. At most `MAX_WARM_SHEETS` wait; others, and those that a
   * restart drops, are produced when a player asks. It is not a job of the queue, because the cache
   * may lose every image and produce it again.
   */
  warmStoryboard(asset: PlayableAsset): void {
    const { video, durationSeconds } = asset.plan;
    // Its frames are spread over the file, of which a copy from a bucket has only parts.
    if (!video || !this.deps.blobs.isLocal || this.warmSheets >= MAX_WARM_SHEETS) return;
    const storyboard = planStoryboard(video, parseStoryboardWindow({}, durationSeconds));
    const sheet = planSpriteSheet(video, storyboard, parseStoryboardFormat(undefined));
    this.warmSheets += 1;
    void this.warm(asset, sheet).finally(() => {
      this.warmSheets -= 1;
    });
  }

  private async warm(asset: PlayableAsset, image: PlannedImage): Promise<void> {
    // Nobody has requested it yet; a request will try again and get its own error.
    await this.image(asset, image, { priority: mediaPriority.background }).catch(() => undefined);
  }

  private async encode(
    asset: PlayableAsset,
    video: VideoPlan,
    { job, size }: PlannedImage,
    task: FileTask,
  ): Promise<Uint8Array> {
    const { blobs, sourceRanges } = this.deps;
    this.deps.throwIfWithdrawn(asset.plan);
    const needed = await sourceRanges.ofVideo(asset, displayedSpans(job, video));
    return readSource(
      (ranges) => OpenFrames.open(blobs, asset, ranges),
      needed,
      async ({ source, overlayPaths }) => {
        const outPath = task.production.temporaryPath();
        await task.submit({
          ...job,
          source: { ...source, formatName: video.formatName },
          filters: video.filters,
          overlayPaths,
          threads: MEDIA_THREADS,
          outPath,
        } as MediaJob);
        const bytes = await readResult(outPath, MAX_IMAGE_BYTES);
        verifyImage(bytes, job.format, size);
        return bytes;
      },
    );
  }
}
