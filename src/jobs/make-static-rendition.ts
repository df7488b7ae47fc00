import { queues } from '../domain/queues.js';
import type { RenditionState } from '../domain/renditions/rendition-state.js';
import type { RenditionJob } from '../domain/renditions/static-renditions.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { AUDIO_RENDITION } from '../media/plan/find-segment.js';
import type { Plan } from '../media/plan/plan.js';
import {
  chooseVideoRendition,
  type Mp4Support,
  planMp4Support,
  planRendition,
  type RenditionFile,
  type RenditionResolution,
  renditionSource,
} from '../media/plan/static-rendition.js';
import type { PlayableAsset } from '../packager/playable-asset.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import type { Job, JobContext, QueueWorker } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { renditionKey, renditionPartsPrefix, renditionPrefix } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { type SegmentsTrack, writeSegmentsFile } from './write-segments-file.js';

export interface RenditionDeps {
  readonly state: RenditionState;
  readonly producer: Pick<SegmentProducer, 'segment'>;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

type RenditionWork = NonNullable<Awaited<ReturnType<RenditionState['find']>>>;

/** Makes files from segments, and removes the files of deleted renditions. */
export const createRenditionWorkers = (deps: RenditionDeps, concurrency: number): QueueWorker[] => [
  {
    queue: queues.makeRendition,
    concurrency,
    handler: async (job: Job<RenditionJob>, { signal }: JobContext) => {
      const { assetId, renditionId } = job.payload;
      const logger = deps.logger.child({ asset_id: assetId, rendition_id: renditionId, job_id: job.id });
      try {
        await makeRendition({ ...deps, logger }, job.payload, signal);
      } catch (error) {
        if (await deps.state.find(renditionId)) throw error;
      }
      // Deleted in the meantime: remove what this run wrote after the purge.
      if (!(await deps.state.find(renditionId))) await deps.blobs.deletePrefix(renditionPrefix(assetId, renditionId));
    },
    onFailed: async (job: Job<RenditionJob>, error) => {
      const { assetId, renditionId } = job.payload;
      const fields = { asset_id: assetId, rendition_id: renditionId, job_id: job.id };
      deps.logger.warn({ ...fields, err: error }, 'static rendition failed');
      await deps.state.fail(renditionId, error);
      const failed = await deps.state.find(renditionId);
      if (failed?.rendition.status !== 'ready') await deps.blobs.deletePrefix(renditionPrefix(assetId, renditionId));
    },
  },
  {
    queue: queues.purgeRendition,
    concurrency: 1,
    handler: async ({ payload }: Job<RenditionJob>) => {
      await deps.blobs.deletePrefix(renditionPrefix(payload.assetId, payload.renditionId));
    },
  },
];

const makeRendition = async (deps: RenditionDeps, job: RenditionJob, signal: AbortSignal): Promise<void> => {
  const { state, blobs } = deps;
  const { assetId, renditionId } = job;
  const partsPrefix = renditionPartsPrefix(assetId, renditionId);
  const task = await state.find(renditionId);
  if (!task) return;
  if (task.rendition.status !== 'preparing') return blobs.deletePrefix(partsPrefix);
  const plan = task.plan as Plan;
  const file = planFile(task, plan);
  if (!file) return state.skip(renditionId);

  const startedMs = deps.clock.monotonicMs();
  const video = file.size && chooseVideoRendition(plan.video!, file.size, task.asset.video_quality);
  const asset: PlayableAsset = { id: assetId, plan, additional: video && { video: [video] } };
  const written = await writeSegmentsFile(deps, {
    asset,
    tracks: tracksOf(plan, video?.name),
    key: renditionKey(assetId, renditionId),
    partsPrefix,
    signal,
    onProgress: async (fraction) => {
      if (!(await state.saveProgress(renditionId, fraction))) throw new KinoraError('not_found');
    },
  });
  await state.complete(renditionId, { ...written, ...(video && { frame: video }) });
  await blobs.deletePrefix(partsPrefix);
  const elapsedMs = Math.round(deps.clock.monotonicMs() - startedMs);
  deps.logger.info({ name: file.name, size_bytes: written.sizeBytes, elapsed_ms: elapsedMs }, 'static rendition ready');
};

const planFile = ({ rendition, asset }: RenditionWork, plan: Plan): RenditionFile | undefined => {
  const { name, resolution } = rendition;
  const source = renditionSource(plan);
  return resolution === null
    ? planMp4Support(asset.mp4_support as Mp4Support, source)?.find((file) => file.name === name)
    : planRendition(resolution as RenditionResolution, source);
};

/** The video, if any, comes first. */
const tracksOf = ({ video, audio }: Plan, videoRendition: string | undefined): SegmentsTrack[] => [
  ...(video && videoRendition !== undefined
    ? [{ rendition: videoRendition, segmentCount: video.boundaries.length - 1 }]
    : []),
  ...(audio ? [{ rendition: AUDIO_RENDITION, segmentCount: audio.boundaries.length - 1 }] : []),
];
