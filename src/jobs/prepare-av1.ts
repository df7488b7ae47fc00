import type { Database } from '../db/database.js';
import { findAv1State, saveAv1State } from '../db/tables/playback/av1.js';
import { findPlan } from '../db/tables/playback/playable.js';
import { listDeliveredParts } from '../db/tables/playback/usage.js';
import { queues } from '../domain/queues.js';
import { PART_SECONDS } from '../domain/usage/delivery-counter.js';
import type { Clock } from '../lib/clock.js';
import { withAv1 } from '../media/plan/av1-ladder.js';
import type { Plan, VideoPlan } from '../media/plan/plan.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { mediaPriority } from '../pool/media-pool.js';
import type { Job, QueueWorker } from '../queue/queue.js';
import type { Logger } from '../telemetry/logger.js';

export interface Av1Deps {
  readonly database: Database;
  readonly producer: Pick<SegmentProducer, 'segment'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Payload = { readonly assetId: string };

/** The share of what was watched that is made in advance; at most so many segments and minutes. */
const SHARE = 0.8;
const MAX_SEGMENTS = 150;
const MAX_MS = 30 * 60_000;

/**
 * Makes the segments of an AV1 ladder that are watched most, into the cache and with the priority
 * of background work, and then has the ladder listed. A run that is interrupted finds in the cache
 * what it made before. Players that need other segments have them made like those in H.264.
 */
export const createAv1Worker = (deps: Av1Deps): QueueWorker => ({
  queue: queues.prepareAv1,
  concurrency: 1,
  handler: async (job: Job<Payload>, { signal }) => {
    const { database, logger } = deps;
    const { assetId } = job.payload;
    const isOpen = async (): Promise<boolean> => {
      const asset = await findAv1State(database.queryable, assetId);
      return asset?.status === 'ready' && asset.av1 === 'auto' && asset.av1_state === null;
    };
    if (!(await isOpen())) return;
    const plan = (await findPlan(database.queryable, assetId)) as Plan | undefined;
    if (!plan?.video) return;
    const segments = await prepare(deps, assetId, withAv1(plan), signal);
    // Its owner may have deleted it, or turned AV1 off.
    if (!(await isOpen())) return;
    await saveAv1State(database.queryable, assetId, 'listed');
    logger.info({ asset_id: assetId, segments }, 'AV1 listed');
  },
  onFailed: async (job: Job<Payload>, error) => {
    deps.logger.warn({ asset_id: job.payload.assetId, job_id: job.id, err: error }, 'AV1 not listed');
    await saveAv1State(deps.database.queryable, job.payload.assetId, 'failed');
  },
});

/** Returns the number of segments that are in the cache in all rungs. */
const prepare = async (
  { database, producer, clock }: Av1Deps,
  assetId: string,
  plan: Plan,
  signal: AbortSignal,
): Promise<number> => {
  const video = plan.video!;
  const parts = await listDeliveredParts(database.queryable, assetId);
  const watched = new Map(parts.map(({ part, seconds }) => [part, seconds]));
  const endMs = clock.monotonicMs() + MAX_MS;
  let segments = 0;
  for (const file of ['init.mp4', ...mostWatched(video, watched).map((number) => `${number}.m4s`)]) {
    if (clock.monotonicMs() > endMs) break;
    for (const { name } of video.av1 ?? []) {
      signal.throwIfAborted();
      await producer.segment({ id: assetId, plan }, name, file, { signal, priority: mediaPriority.background });
    }
    if (file !== 'init.mp4') segments += 1;
  }
  return segments;
};

/**
 * The segments that are watched most, the first ones first, until they cover the share.
 * @param watched delivered seconds by part of the asset
 */
export const mostWatched = (
  { boundaries, timescale }: Pick<VideoPlan, 'boundaries' | 'timescale'>,
  watched: ReadonlyMap<number, number>,
): number[] => {
  const heats = boundaries.slice(0, -1).map((start, number) => {
    const seconds = (boundaries[number + 1]! - start) / timescale;
    const heat = (watched.get(Math.floor(start / timescale / PART_SECONDS)) ?? 0) * seconds;
    return { number, heat };
  });
  const total = heats.reduce((sum, { heat }) => sum + heat, 0);
  const chosen: number[] = [];
  let covered = 0;
  for (const { number, heat } of heats.sort((a, b) => b.heat - a.heat || a.number - b.number)) {
    if (chosen.length === MAX_SEGMENTS || heat === 0 || covered >= total * SHARE) break;
    chosen.push(number);
    covered += heat;
  }
  return chosen;
};
