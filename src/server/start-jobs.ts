import { isSourceUsed } from '../db/tables/assets/clip.js';
import { deleteTestAsset } from '../domain/assets/delete-asset.js';
import { IngestState } from '../domain/assets/ingest-state.js';
import { queues } from '../domain/queues.js';
import { RenditionState } from '../domain/renditions/rendition-state.js';
import { RecognitionState } from '../domain/tracks/recognition-state.js';
import { TrackState } from '../domain/tracks/track-state.js';
import { sampleUrl } from '../http/ops/sample.js';
import { createShotsWorker } from '../jobs/find-shots.js';
import { WatchedSearch } from '../jobs/find-watched.js';
import { HourlyWork } from '../jobs/hourly-work.js';
import { createTrackWorkers } from '../jobs/ingest/tracks/worker.js';
import { createIngestWorkers } from '../jobs/ingest/worker.js';
import { createMasterWorkers } from '../jobs/make-master.js';
import { createRenditionWorkers } from '../jobs/make-static-rendition.js';
import { createAv1Worker } from '../jobs/prepare-av1.js';
import { createPurgeHandler } from '../jobs/purge.js';
import { purgeEvents } from '../jobs/purge-events.js';
import { createRecognitionWorker } from '../jobs/recognize-speech.js';
import { createUploadWorkers } from '../jobs/settle-uploads.js';
import { WebhookDeliverer } from '../jobs/webhook-deliverer.js';
import { newUuid } from '../lib/ids.js';
import { SourceClient } from '../net/source-client.js';
import type { Membership } from '../nodes/membership.js';
import type { Job, QueueWorker } from '../queue/queue.js';
import { Runner } from '../queue/runner.js';
import type { Base, Parts } from './parts.js';

const PURGE_CONCURRENCY = 2;

/** Every worker of the job queue. `localUrl` is the base URL of the sample video. */
const createWorkers = (base: Base, parts: Parts, localUrl: string): QueueWorker[] => {
  const { config, logger, clock } = base;
  const { database, context, blobs, cache, pool, producer, images, texts, earlySources, temporaryDir } = parts;
  const fetcher = new SourceClient({
    allowPrivate: config.allowPrivateSources,
    allowedUrls: new Set([sampleUrl(localUrl)]),
    maxBytes: config.maxSourceBytes,
    userAgent: config.userAgent,
    clock,
    logger,
    resolve: base.resolve,
  });
  const tracks = new TrackState(context);
  const trackDeps = {
    ...{ state: tracks, blobs, texts, cache, fetcher, pool, producer, temporaryDir, logger },
  };
  const ingestDeps = {
    ...trackDeps,
    ...{
      tracks,
      state: new IngestState(context),
      images,
      earlySources,
      playsEarly: config.rangeSources,
      usesEmbeddedTracks: config.embeddedTracks,
      maxSourceBytes: config.maxSourceBytes,
      linked: parts.linked,
      live: context.live,
      parallel: config.mediaProcesses,
      clock,
    },
  };
  return [
    ...createIngestWorkers(ingestDeps, context.queue, config.ingestConcurrency),
    ...createTrackWorkers(trackDeps),
    createRecognitionWorker({
      state: new RecognitionState(database.queryable),
      transcriber: parts.transcriber,
      captions: parts.robots?.captions,
      ...{ tracks, blobs, texts, pool, temporaryDir, logger },
    }),
    ...createRenditionWorkers(
      { state: new RenditionState(context), producer, blobs, clock, logger },
      // Each file occupies one media process; one is left for viewers.
      Math.max(1, config.mediaProcesses - 1),
    ),
    ...createMasterWorkers({ context, blobs, pool, producer, temporaryDir, logger }),
    createShotsWorker({ context, blobs, pool, logger }),
    createAv1Worker({ database, producer, clock, logger }),
    ...(parts.robots?.workers ?? []),
    ...createUploadWorkers({ database, clock, uploadSessions: parts.uploadSessions }),
    {
      queue: queues.purgeAsset,
      concurrency: PURGE_CONCURRENCY,
      handler: createPurgeHandler({
        isSourceUsed: (assetId) => isSourceUsed(database.queryable, assetId),
        ...{ blobs, cache, earlySources, queue: context.queue, clock, logger },
      }),
    },
    {
      queue: queues.deleteTestAsset,
      concurrency: 1,
      handler: (job: Job<{ assetId: string }>) => deleteTestAsset(context, job.payload.assetId),
    },
  ];
};

const WEBHOOK_LIMIT_MS = 2000;

/** Of several servers one sends the webhooks, because what is being sent is kept in memory. */
const startWebhooks = async ({ logger, clock, phases }: Base, parts: Parts, nodes?: Membership): Promise<void> => {
  const { database, webhookSender: sender } = parts;
  let deliverer: WebhookDeliverer;
  const start = async (mayWork: () => boolean): Promise<void> => {
    deliverer = new WebhookDeliverer({ database, sender, clock, logger, mayWork });
    await deliverer.start();
  };
  const stop = (limitMs = WEBHOOK_LIMIT_MS): Promise<void> => deliverer.stop(limitMs);
  if (nodes) {
    const leadership = nodes.lead('webhooks', { start, stop });
    phases.push({ name: 'webhooks', end: () => leadership.stop() });
    return;
  }
  await start(() => true);
  phases.push({ name: 'webhooks', end: stop });
};

/** Starts jobs, webhooks and the hourly purges. */
export const startJobs = async (base: Base, parts: Parts, localUrl: string, nodes?: Membership): Promise<void> => {
  const { config, logger, clock, metrics, phases } = base;
  const { database, context } = parts;
  const runner = new Runner({
    database,
    clock,
    logger,
    metrics,
    workerId: newUuid(),
    // The lock of the data directory also covers the embedded database.
    isAlone: database.engine === 'pglite',
    workers: createWorkers(base, parts, localUrl),
  });
  await context.queue.enqueue(queues.settleUploads, {});
  await runner.start();
  phases.push({ name: 'jobs', end: (limitMs) => runner.stop(limitMs) });
  await startWebhooks(base, parts, nodes);
  if (typeof config.av1After === 'number' && config.av1After > 0) {
    const search = new WatchedSearch({ database, queue: context.queue, clock, logger, factor: config.av1After });
    phases.push({ name: 'search for watched assets', end: () => search.stop() });
  }
  const eventPurge = { database, clock, logger, retentionMs: config.eventRetentionMs };
  const hourlyPurge = new HourlyWork(
    (isStopping) => purgeEvents(eventPurge, isStopping),
    logger,
    'removal of old events failed, retrying in an hour',
  );
  hourlyPurge.start();
  phases.push({ name: 'purge of events', end: () => hourlyPurge.stop() });
  const robotsPurge = parts.robots?.purge;
  if (robotsPurge) {
    robotsPurge.start();
    phases.push({ name: 'purge of robots jobs', end: () => robotsPurge.stop() });
  }
  const { sums, purge } = parts.audience;
  sums.start();
  phases.push({ name: 'sums of views', end: () => sums.stop() });
  purge.start();
  phases.push({ name: 'purge of views', end: () => purge.stop() });
};
