import { mkdir, readdir, rename } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSegmentStore } from './cache/disk-segment-store.js';
import type { Config } from './config/options.js';
import { createControlHandlers } from './control/control-handlers.js';
import { startControlServer } from './control/control-server.js';
import { repairLooseModes } from './db/data-dir.js';
import { acquireDataDirLock } from './db/data-dir-lock.js';
import { migrate } from './db/migrate.js';
import { openDatabase } from './db/open-database.js';
import { acquireServerLock } from './db/server-lock.js';
import { isSourceUsed } from './db/tables/assets/clip.js';
import { getInstallationSecret } from './db/tables/server/installation.js';
import { bootstrap } from './domain/access/bootstrap.js';
import { deleteTestAsset } from './domain/assets/delete-asset.js';
import { createIngestState } from './domain/assets/ingest-state.js';
import { createMasterOpener } from './domain/assets/open-master.js';
import type { DomainContext } from './domain/context.js';
import { createContentKeys } from './domain/drm/content-keys.js';
import { createAccessCheck } from './domain/playback/check-access.js';
import { createPlayableFinder } from './domain/playback/find-playable.js';
import { queues } from './domain/queues.js';
import { createRenditionOpener } from './domain/renditions/open-rendition.js';
import { createRenditionState } from './domain/renditions/rendition-state.js';
import { createRobotsJobState } from './domain/robots/job-state.js';
import { createResultOpener } from './domain/robots/open-result.js';
import { createArtifactUrls } from './domain/signing/artifact-urls.js';
import { createRecognitionState } from './domain/tracks/recognition-state.js';
import { createTrackState } from './domain/tracks/track-state.js';
import { createUploadUrls } from './domain/uploads/upload-url.js';
import { createUploadWriters } from './domain/uploads/upload-writer.js';
import { createDeliveryCounter } from './domain/usage/delivery-counter.js';
import { keepConfiguredWebhook } from './domain/webhooks/configured-webhook.js';
import { createApp } from './http/app.js';
import { watchConnections } from './http/close-http.js';
import { imageRoutes } from './http/image/image-routes.js';
import { createMetricsApp } from './http/ops/metrics.js';
import { createSampleAsset, sampleRoute, sampleUrl } from './http/ops/sample.js';
import { artifactRoutes } from './http/stream/artifact-routes.js';
import { licenseRoutes } from './http/stream/license-routes.js';
import { streamRoutes } from './http/stream/stream-routes.js';
import { createWebhookDeliverer } from './jobs/deliver-webhooks.js';
import { createShotsWorker } from './jobs/find-shots.js';
import { createIngestWorkers } from './jobs/ingest.js';
import { createTrackWorkers } from './jobs/ingest-track.js';
import { createMasterWorkers } from './jobs/make-master.js';
import { createRenditionWorkers } from './jobs/make-static-rendition.js';
import { createPurgeHandler } from './jobs/purge.js';
import { createEventPurge } from './jobs/purge-events.js';
import { createRobotsPurge } from './jobs/purge-robots.js';
import { createRecognitionWorker } from './jobs/recognize-speech.js';
import { createRobotsWorkers } from './jobs/robots/run-workflow.js';
import { createModelAsker } from './jobs/robots/support/ask-model.js';
import { createUploadWorkers } from './jobs/settle-uploads.js';
import { sweepUnfinished } from './jobs/sweep-unfinished.js';
import { type Clock, systemClock } from './lib/clock.js';
import { newId, newUuid } from './lib/ids.js';
import { tryListen } from './lib/try-listen.js';
import { withinLimit } from './lib/within-limit.js';
import { type ChatClientOptions, createChatClient } from './net/chat-client.js';
import { createServiceCaller } from './net/service-caller.js';
import { createSourceFetcher, type SourceFetcherOptions } from './net/source-fetcher.js';
import { createWebhookSender } from './net/webhook-sender.js';
import { createTextParser } from './packager/parse-text.js';
import { createImageProducer } from './packager/produce-image.js';
import { createSegmentProducer } from './packager/produce-segment.js';
import { createTextTracks } from './packager/text-tracks.js';
import { createMediaPool, type MediaPoolOptions } from './pool/create-media-pool.js';
import { type MediaPool, mediaPriority } from './pool/media-pool.js';
import { createQueue } from './queue/job-queue.js';
import type { Job } from './queue/queue.js';
import { createRunner } from './queue/runner.js';
import { createTranscriber, describeTranscriber, localModelPath } from './speech/create-transcriber.js';
import { createDiskBlobStore } from './storage/disk-blob-store.js';
import { watchDiskSpace } from './storage/disk-space.js';
import { createLogger, type Logger } from './telemetry/logger.js';
import { createMetrics } from './telemetry/metrics.js';

/** A running server and everything it holds. */
export interface Kinora {
  /** Where it listens, known after `start`. */
  readonly url: string;
  /** Known after `start`, when metrics are served. */
  readonly metricsUrl?: string;
  /** Present after the first start of a database that made its own token: it stays in its file and, as a hash, in the database. */
  readonly firstStart?: { readonly token: string };
  /** Address of the page that plays the sample asset, on a first start that makes one; undefined when it failed (logged). */
  readonly samplePage?: Promise<string | undefined>;
  /** @throws KinoraError `data_dir_in_use`, `config_invalid`, `unavailable` */
  start(): Promise<void>;
  /** Ends in phases, each within its share of the limit; safe after a failed `start`. */
  stop(): Promise<void>;
}

/** What tests put in place of the world outside. */
export interface Overrides {
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly resolve?: SourceFetcherOptions['resolve'];
  readonly mediaProcesses?: Pick<MediaPoolOptions, 'entryUrl' | 'deadlinesMs'>;
  readonly chat?: Pick<ChatClientOptions, 'limitMs' | 'retryDelayMs'>;
}

/** One step of the shutdown: what to end, and in which order it was started. */
interface Phase {
  readonly name: string;
  readonly end: (limitMs: number) => unknown;
}

const PURGE_CONCURRENCY = 2;
const SAMPLE_SECONDS = 20;
const MIN_PHASE_MS = 1000;
/** A part that cuts off its own work at its limit has this long to do so. */
const GRACE_MS = 500;

/** The composition root: concrete parts meet here and nowhere else. */
export const createKinora = async (config: Config, overrides: Overrides = {}): Promise<Kinora> => {
  const logger = overrides.logger ?? createLogger(config.logLevel, config.logFormat);
  const clock = overrides.clock ?? systemClock;
  const metrics = createMetrics();
  const phases: Phase[] = [];
  let url = '';
  let metricsUrl: string | undefined;
  let stopping = false;
  /** Jobs and webhooks are taken up. */
  let isWorking = false;
  let newToken: string | undefined;
  let samplePage: Promise<string | undefined> | undefined;

  const start = async (): Promise<void> => {
    const lock = await acquireDataDirLock(config.dataDir, () => {
      // Another process may open the directory from now on; going on would corrupt it.
      logger.error({ data_dir: config.dataDir }, 'the lock of the data directory was lost');
      process.kill(process.pid, 'SIGKILL');
    });
    phases.push({ name: 'lock', end: () => lock.release() });
    const isFresh = (await readdir(config.dataDir)).every((name) => name === 'lock');
    const { repaired, left } = repairLooseModes(config.dataDir);
    if (repaired.length > 0)
      logger.warn(
        { entries: repaired.length, first: repaired[0] },
        'other users had access to files; it was taken away',
      );
    if (left.length > 0) logger.warn({ entries: left }, 'other users have access to the data directory');
    // Before anything is made: a first start that can't listen leaves nothing behind.
    for (const [host, port] of [
      [config.host, config.port],
      [config.metricsHost, config.metricsPort],
    ] as const) {
      const problem = port === undefined ? undefined : await tryListen(host, port);
      if (problem) throw problem;
    }
    // Creating the embedded database takes seconds on a thread of its own: the media processes start meanwhile.
    const opening = openDatabase({
      dataDir: config.dataDir,
      logger,
      ...(config.databaseUrl && { url: config.databaseUrl }),
    });
    phases.push({ name: 'database', end: async () => (await opening.catch(() => undefined))?.close() });
    // The failure is thrown where the database is needed first, unless something else fails before.
    opening.catch(() => undefined);

    const blobDir = join(config.dataDir, 'blobs');
    const cacheDir = join(config.dataDir, 'cache');
    const temporaryDir = join(cacheDir, 'tmp');
    const blobs = createDiskBlobStore(blobDir);
    await mkdir(blobDir, { recursive: true });
    const diskSpace = watchDiskSpace({ dir: blobDir, logger });
    phases.push({ name: 'disk space', end: () => diskSpace.stop() });
    const store = await createSegmentStore({ dir: cacheDir, maxBytes: config.cacheSizeBytes, logger, clock });
    phases.push({ name: 'segment store', end: () => store.stop() });
    const modelPath = localModelPath(config);
    const pool = await createMediaPool({
      size: config.mediaProcesses,
      readDirs: [blobDir],
      ...(modelPath !== undefined && { readFiles: [modelPath] }),
      writeDir: temporaryDir,
      memoryBytes: config.mediaMemoryBytes,
      logger,
      clock,
      metrics,
      ...overrides.mediaProcesses,
    });
    phases.push({ name: 'media processes', end: () => pool.stop() });
    const samplePath = join(config.dataDir, 'sample.mp4');
    const sampleOut = join(temporaryDir, `sample-${newId()}`);
    // Begun before the database can tell that this is the first start, because both take seconds.
    let sample = isFresh && config.sample ? makeSample(pool, sampleOut, samplePath) : undefined;
    // A failure is logged where the sample is used; until then it must not end the process.
    sample?.catch(() => undefined);

    const database = await opening;
    if (config.databaseUrl) {
      const serverLock = await acquireServerLock(config.databaseUrl, logger, () => {
        logger.error({}, 'another server uses the database');
        process.kill(process.pid, 'SIGKILL');
      });
      phases.push({ name: 'server lock', end: () => serverLock.release() });
    }
    await migrate(database);
    const { token } = config;
    const first = await bootstrap(
      database,
      { dataDir: config.dataDir, videoQuality: config.defaultVideoQuality, ...(token && { token }) },
      clock,
    );
    newToken = first.newToken;
    await keepConfiguredWebhook(database, { url: config.webhookUrl, secret: config.webhookSecret }, clock);

    await sweepUnfinished({ database, blobs, logger });

    const producer = createSegmentProducer({ store, pool, blobs, clock, logger, metrics });
    phases.push({ name: 'segment producer', end: () => producer.stop() });

    const texts = createTextTracks(blobs, createTextParser());
    const images = createImageProducer({ store, pool, blobs, clock });
    const imageUrl = config.imageUrl ?? config.publicUrl;
    const streamUrl = config.streamUrl ?? config.publicUrl;

    const playables = createPlayableFinder(database, clock);
    const installationSecret = await getInstallationSecret(database.queryable);
    const { allowPrivateSources: allowPrivate } = config;
    const { resolve } = overrides;
    const services = createServiceCaller({ allowPrivate, ...(resolve && { resolve }) });
    const contentKeys = createContentKeys({ database, installationSecret, services });
    const accessCheck = createAccessCheck({
      database,
      clock,
      installationSecret,
      riskyUserAgents: config.riskyUserAgents,
    });
    const deliveries = createDeliveryCounter({ database, clock, logger });
    phases.push({ name: 'delivery counter', end: () => deliveries.stop() });
    const queue = createQueue(database);
    const artifactUrls = createArtifactUrls(installationSecret, () => config.streamUrl ?? url);
    const transcriber = createTranscriber(config, pool);
    transcriber?.check('auto').catch((error: unknown) => {
      logger.warn({ err: error }, 'Speech cannot be recognized: generated subtitles will end as errored');
    });
    const context: DomainContext = {
      database,
      queue,
      clock,
      artifactUrls,
      recognizesSpeech: transcriber !== undefined,
      apiUrl: () => url,
      onAssetDeleted: (assetId, playbackIds) => {
        playables.forget(assetId);
        for (const playbackId of playbackIds) playables.forget(playbackId);
      },
      onTracksChanged: (assetId) => playables.forget(assetId),
      onPlaybackIdDeleted: (playbackId) => playables.forget(playbackId),
      onSigningKeyDeleted: (signingKeyId) => accessCheck.forgetSigningKey(signingKeyId),
      onPlaybackRestrictionChanged: (restrictionId) => accessCheck.forgetPlaybackRestriction(restrictionId),
    };
    const webhookSender = createWebhookSender({
      allowPrivate: config.allowPrivateSources,
      ...(overrides.resolve && { resolve: overrides.resolve }),
    });
    const writers = createUploadWriters({ ...context, blobs, logger, maxBytes: config.maxSourceBytes });
    const app = createApp({
      ...context,
      logger,
      webhookSender,
      uploads: { writers, urls: createUploadUrls(installationSecret, () => url) },
      metrics,
      trustedProxies: config.trustedProxies,
      rateLimits: { post: config.rateLimitPost, other: config.rateLimitOther },
      checks: {
        database: () => database.ping(),
        storage: () => diskSpace.check(),
        'media processes': () => pool.check(),
        'background jobs': async () => {
          if (!isWorking) throw new Error('the server is starting or stopping');
        },
      },
      streamPlugin: async (scope) => {
        await scope.register(sampleRoute(samplePath));
        await scope.register(
          artifactRoutes({
            ...context,
            openMaster: createMasterOpener({ ...context, blobs }),
            openResult: createResultOpener({ ...context, blobs }),
            images,
          }),
        );
        await scope.register(
          streamRoutes({
            playables,
            access: accessCheck,
            segments: producer,
            texts,
            openRendition: createRenditionOpener({ database, blobs }),
            deliveries,
            contentKeys,
            ...(streamUrl && { streamUrl }),
          }),
        );
        await scope.register(licenseRoutes({ playables, access: accessCheck, contentKeys, services }));
        await scope.register(imageRoutes({ playables, access: accessCheck, images, ...(imageUrl && { imageUrl }) }));
      },
    });
    const closeApp = watchConnections(app);
    await app.listen({ host: config.host, port: config.port });
    phases.push({ name: 'http', end: closeApp });
    if (config.metricsPort !== undefined) {
      const metricsApp = createMetricsApp({
        metrics,
        database,
        cacheBytes: () => store.totalBytes,
        freeBytes: () => diskSpace.freeBytes(),
        logger,
      });
      const closeMetrics = watchConnections(metricsApp);
      await metricsApp.listen({ host: config.metricsHost, port: config.metricsPort });
      phases.push({ name: 'metrics', end: closeMetrics });
      metricsUrl = `${addressOf(config.metricsHost, metricsApp.server.address() as AddressInfo)}/metrics`;
    }
    const localUrl = addressOf(config.host, app.server.address() as AddressInfo);
    url = config.publicUrl ?? localUrl;

    const fetcher = createSourceFetcher({
      allowPrivate: config.allowPrivateSources,
      allowedUrls: new Set([sampleUrl(localUrl)]),
      maxBytes: config.maxSourceBytes,
      userAgent: config.userAgent,
      clock,
      logger,
      ...(overrides.resolve && { resolve: overrides.resolve }),
    });
    const chatModel = createChatClient({
      url: config.aiUrl,
      key: config.aiKey,
      model: config.aiModel,
      visionModel: config.aiVisionModel,
      ...overrides.chat,
      ...(overrides.resolve && { resolve: overrides.resolve }),
    });
    const trackState = createTrackState(context);
    const robotsState = createRobotsJobState(context);
    const trackDeps = {
      state: trackState,
      blobs,
      texts,
      segments: store,
      fetcher,
      pool,
      producer,
      temporaryDir,
      logger,
    };
    const ingestWorkers = createIngestWorkers(
      {
        ...trackDeps,
        tracks: trackState,
        state: createIngestState(context),
        images,
        parallel: config.mediaProcesses,
        clock,
      },
      context.queue,
      config.ingestConcurrency,
    );
    const runner = createRunner({
      database,
      clock,
      logger,
      metrics,
      workerId: newUuid(),
      // The lock of the data directory is the embedded database's too.
      isAlone: database.engine === 'pglite',
      workers: [
        ...ingestWorkers,
        ...createTrackWorkers(trackDeps),
        createRecognitionWorker({
          state: createRecognitionState(context),
          tracks: trackState,
          robots: robotsState,
          blobs,
          texts,
          pool,
          transcriber,
          temporaryDir,
          logger,
        }),
        ...createRenditionWorkers(
          { state: createRenditionState(context), producer, blobs, clock, logger },
          // A file keeps one media process busy, and one is left to viewers.
          Math.max(1, config.mediaProcesses - 1),
        ),
        ...createMasterWorkers({ context, blobs, pool, producer, temporaryDir, logger }),
        createShotsWorker({ context, blobs, pool, logger }),
        ...createRobotsWorkers({
          context,
          state: robotsState,
          blobs,
          texts,
          images,
          pool,
          model: createModelAsker(chatModel),
          logger,
        }),
        ...createUploadWorkers({ database, clock, writers }),
        {
          queue: queues.purgeAsset,
          concurrency: PURGE_CONCURRENCY,
          handler: createPurgeHandler({
            blobs,
            segments: store,
            isSourceUsed: (assetId) => isSourceUsed(database.queryable, assetId),
            queue,
            clock,
            logger,
          }),
        },
        {
          queue: queues.deleteTestAsset,
          concurrency: 1,
          handler: (job: Job<{ assetId: string }>) => deleteTestAsset(context, job.payload.assetId),
        },
      ],
    });
    await queue.enqueue(queues.settleUploads, {});
    await runner.start();
    phases.push({ name: 'jobs', end: (limitMs) => runner.stop(limitMs) });
    const deliverer = createWebhookDeliverer({ database, sender: webhookSender, clock, logger });
    await deliverer.start();
    phases.push({ name: 'webhooks', end: (limitMs) => deliverer.stop(limitMs) });
    const eventPurge = createEventPurge({ database, clock, logger, retentionMs: config.eventRetentionMs });
    eventPurge.start();
    phases.push({ name: 'purge of events', end: () => eventPurge.stop() });
    const robotsPurge = createRobotsPurge({ database, blobs, clock, logger });
    robotsPurge.start();
    phases.push({ name: 'purge of robots jobs', end: () => robotsPurge.stop() });
    const handlers = createControlHandlers({
      database,
      config,
      url: localUrl,
      pool,
      speech: describeTranscriber(config),
    });
    const control = await startControlServer(config.dataDir, handlers, logger);
    phases.push({ name: 'control socket', end: () => control.stop() });
    isWorking = true;
    logger.info(
      {
        url,
        data_dir: config.dataDir,
        database: database.engine,
        sandbox: pool.sandbox,
        speech: describeTranscriber(config) ?? 'none',
        ...(metricsUrl && { metrics_url: metricsUrl }),
      },
      'Kinora is running',
    );

    if (first.firstStart && config.sample) {
      sample ??= makeSample(pool, sampleOut, samplePath);
      samplePage = sample
        .then(() => createSampleAsset(context, sampleUrl(localUrl)))
        .then((playbackId) => `${config.streamUrl ?? url}/${playbackId}`)
        .catch((error: unknown) => {
          // No reason to end: everything else works.
          if (!stopping) logger.warn({ err: error }, 'the sample video could not be made');
          return undefined;
        });
    }
  };

  const stop = async (): Promise<void> => {
    stopping = true;
    isWorking = false;
    if (phases.length === 0) return;
    const startedMs = clock.monotonicMs();
    for (const { name, end } of phases.splice(0).reverse()) {
      // Half of what is left, so that the last ones, which save the data, always have their share.
      const limitMs = Math.max(MIN_PHASE_MS, (config.shutdownLimitMs - (clock.monotonicMs() - startedMs)) / 2);
      try {
        await withinLimit(end(limitMs), limitMs + GRACE_MS);
      } catch (error) {
        // The later phases matter more than this one's failure: closing the database and releasing the lock.
        logger.error({ err: error, phase: name }, 'a part did not stop cleanly');
      }
    }
    logger.info({ elapsed_ms: clock.monotonicMs() - startedMs }, 'Kinora has stopped');
  };

  return {
    get url() {
      return url;
    },
    get metricsUrl() {
      return metricsUrl;
    },
    get firstStart() {
      return newToken === undefined ? undefined : { token: newToken };
    },
    get samplePage() {
      return samplePage;
    },
    start: async () => {
      try {
        await start();
      } catch (error) {
        await stop();
        throw error;
      }
    },
    stop,
  } as Kinora;
};

/** The local URL, with the real port where port 0 asked for a free one. */
const addressOf = (host: string, { port }: AddressInfo): string => {
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
};

const makeSample = async (pool: MediaPool, outPath: string, path: string): Promise<void> => {
  const job = { kind: 'sample', outPath, width: 1920, height: 1080, seconds: SAMPLE_SECONDS } as const;
  await pool.run(job, { priority: mediaPriority.warmUp });
  await rename(outPath, path);
};
