import { json } from 'node:stream/consumers';
import { findShots as findShotsRow } from '../db/tables/assets/shots.js';
import { findPlan } from '../db/tables/playback/playable.js';
import { completeShots, failShots, type ShotsOrder } from '../domain/assets/shots.js';
import type { DomainContext } from '../domain/context.js';
import { queues } from '../domain/queues.js';
import { CANCELLED } from '../lib/abort.js';
import type { Plan, VideoPlan } from '../media/plan/plan.js';
import { findShots } from '../media/shots/detect.js';
import { joinScores, type ShotScores } from '../media/shots/scores.js';
import { planShotScores } from '../packager/image-jobs.js';
import { OpenFrames } from '../packager/open-frames.js';
import type { PlayableAsset } from '../packager/playable-asset.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import type { ShotScoresJob } from '../pool/protocol.js';
import type { Job, QueueWorker } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { shotScoresKey, shotScoresPrefix } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';

export interface ShotsDeps {
  readonly context: DomainContext;
  readonly blobs: BlobStore;
  readonly pool: MediaPool;
  readonly logger: Logger;
}

/** Short enough that a restart loses little work. */
const CHUNK_SECONDS = 60;

/**
 * Reads an asset's frames once, part by part, and finds where its shots begin. Finished parts
 * survive a restart.
 */
export const createShotsWorker = (deps: ShotsDeps): QueueWorker => ({
  queue: queues.findShots,
  concurrency: 1,
  handler: async (job: Job<ShotsOrder>, { signal }) => {
    const { assetId, orderId } = job.payload;
    const db = deps.context.database.queryable;
    const isWanted = async () => {
      const row = await findShotsRow(db, assetId);
      return row?.order_id === orderId && row.status === 'pending';
    };
    try {
      const plan = (await isWanted()) ? ((await findPlan(db, assetId)) as Plan | undefined) : undefined;
      if (plan?.video) {
        const startTimes = await searchShots(deps, job.payload, { id: assetId, plan }, plan.video, signal);
        await completeShots(deps.context, job.payload, startTimes);
        deps.logger.info({ asset_id: assetId, shots: startTimes.length }, 'shots detected');
      }
    } catch (error) {
      // Cancelled, or the asset is gone: the next lines remove the results so far.
      if (signal.reason !== CANCELLED && (await isWanted())) throw error;
    }
    await deps.blobs.deletePrefix(shotScoresPrefix(assetId, orderId));
  },
  onFailed: async (job: Job<ShotsOrder>, error) => {
    const { assetId, orderId } = job.payload;
    deps.logger.warn({ asset_id: assetId, job_id: job.id, err: error }, 'shot detection failed');
    await failShots(deps.context, job.payload);
    await deps.blobs.deletePrefix(shotScoresPrefix(assetId, orderId));
  },
});

const searchShots = async (
  { blobs, pool, logger }: ShotsDeps,
  { assetId, orderId }: ShotsOrder,
  asset: PlayableAsset,
  video: VideoPlan,
  signal: AbortSignal,
): Promise<number[]> => {
  const scored: ShotScores[] = [];
  for (const part of planShotScores(video, CHUNK_SECONDS)) {
    const key = shotScoresKey(assetId, orderId, scored.length);
    const stored = await blobs.read(key);
    if (stored) {
      scored.push((await json(stored)) as ShotScores);
      continue;
    }
    const frames = await OpenFrames.open(blobs, asset);
    try {
      const job: ShotScoresJob = { ...part, source: { ...frames.source, formatName: video.formatName }, threads: 1 };
      const scores = await pool.run(job, { priority: mediaPriority.background, signal });
      await blobs.put(key, Buffer.from(JSON.stringify(scores)));
      logger.debug({ asset_id: assetId, part: scored.length }, 'shot detection part done');
      scored.push(scores);
    } finally {
      await frames.release();
    }
  }
  return findShots(joinScores(scored), video.timescale, video.boundaries.at(-1)!);
};
