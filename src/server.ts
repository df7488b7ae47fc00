import { mkdir, rename } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSegmentStore } from './cache/disk-segment-store.js';
import { createSegmentProducer } from './cache/produce-segment.js';
import type { Config } from './config/options.js';
import { acquireDataDirLock } from './db/data-dir-lock.js';
import { migrate } from './db/migrate.js';
import { openDatabase } from './db/open-database.js';
import { bootstrap } from './domain/access/bootstrap.js';
import { deleteTestAsset } from './domain/assets/delete-asset.js';
import { createIngestState } from './domain/assets/ingest-state.js';
import type { DomainContext } from './domain/context.js';
import { createPlayableFinder } from './domain/playback/find-playable.js';
import { createApp } from './http/app.js';
import { createSampleAsset, sampleRoute, sampleUrl } from './http/ops/sample.js';
import { streamRoutes } from './http/stream/stream-routes.js';
import { createIngestWorker } from './jobs/ingest.js';
import { createPurgeHandler } from './jobs/purge.js';
import { type Clock, systemClock } from './lib/clock.js';
import { newId, newUuid } from './lib/ids.js';
import { createSourceFetcher, type SourceFetcherOptions } from './net/source-fetcher.js';
import { createMediaPool } from './pool/create-media-pool.js';
import { mediaPriority } from './pool/media-pool.js';
import { createQueue } from './queue/job-queue.js';
import type { Job } from './queue/queue.js';
import { createRunner } from './queue/runner.js';
import { createDiskBlobStore } from './storage/disk-blob-store.js';
import { createLogger, type Logger } from './telemetry/logger.js';

/** A running server and everything it holds. */
export interface Kinora {
  /** Where it listens, known after `start`. */
  readonly url: string;
  /** Present after the first start of a database that made its own token: shown once, stored only as a hash. */
  readonly firstStart?: { readonly token: string };
  /** Address of the page that plays the sample asset; present on a first start that makes one. */
  readonly samplePage?: Promise<string>;
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
}

/** One step of the shutdown: what to end, and in which order it was started. */
interface Phase {
  readonly name: string;
  readonly end: () => unknown;
}

const PURGE_CONCURRENCY = 2;
const SAMPLE_SECONDS = 20;

/** The composition root: concrete parts meet here and nowhere else. */
export const createKinora = async (config: Config, overrides: Overrides = {}): Promise<Kinora> => {
  const logger = overrides.logger ?? createLogger(config.logLevel, config.logFormat);
  const clock = overrides.clock ?? systemClock;
  const phases: Phase[] = [];
  let url = '';
  let newToken: string | undefined;
  let samplePage: Promise<string> | undefined;

  const start = async (): Promise<void> => {
    await mkdir(config.dataDir, { recursive: true });
    const lock = await acquireDataDirLock(config.dataDir, () => {
      // Another process may open the directory from now on; going on would corrupt it.
      logger.error({ data_dir: config.dataDir }, 'the lock of the data directory was lost');
      process.kill(process.pid, 'SIGKILL');
    });
    phases.push({ name: 'lock', end: () => lock.release() });
    const database = await openDatabase({
      dataDir: config.dataDir,
      logger,
      ...(config.databaseUrl && { url: config.databaseUrl }),
    });
    phases.push({ name: 'database', end: () => database.close() });
    await migrate(database);
    const { token } = config;
    const first = await bootstrap(database, token ? { token } : {}, clock);
    newToken = first.newToken;

    const blobDir = join(config.dataDir, 'blobs');
    const cacheDir = join(config.dataDir, 'cache');
    const temporaryDir = join(cacheDir, 'tmp');
    const blobs = createDiskBlobStore(blobDir);
    const store = await createSegmentStore({ dir: cacheDir, maxBytes: config.cacheSizeBytes, logger, clock });
    phases.push({ name: 'segment store', end: () => store.stop() });
    const pool = await createMediaPool({
      size: config.mediaProcesses,
      readDirs: [blobDir],
      writeDir: temporaryDir,
      memoryBytes: config.mediaMemoryBytes,
      logger,
      clock,
    });
    phases.push({ name: 'media processes', end: () => pool.stop() });
    const producer = createSegmentProducer({ store, pool, blobs, clock, logger });
    phases.push({ name: 'segment producer', end: () => producer.stop() });

    const playables = createPlayableFinder(database, clock);
    const queue = createQueue(database);
    const context: DomainContext = {
      database,
      queue,
      clock,
      onAssetDeleted: (assetId, playbackIds) => {
        playables.forget(assetId);
        for (const playbackId of playbackIds) playables.forget(playbackId);
      },
      onPlaybackIdDeleted: (playbackId) => playables.forget(playbackId),
    };
    const samplePath = join(config.dataDir, 'sample.mp4');
    const app = createApp({
      ...context,
      logger,
      checks: { database: () => database.ping() },
      streamPlugin: async (scope) => {
        await scope.register(sampleRoute(samplePath));
        await scope.register(streamRoutes({ playables, segments: producer }));
      },
    });
    await app.listen({ host: config.host, port: config.port });
    phases.push({ name: 'http', end: () => app.close() });
    url = addressOf(config, app.server.address() as AddressInfo);

    const fetcher = createSourceFetcher({
      allowPrivate: config.allowPrivateSources,
      allowedUrls: new Set([sampleUrl(url)]),
      maxBytes: config.maxSourceBytes,
      userAgent: config.userAgent,
      clock,
      logger,
      ...(overrides.resolve && { resolve: overrides.resolve }),
    });
    const ingestWorker = createIngestWorker(
      {
        state: createIngestState(database, clock),
        blobs,
        segments: store,
        fetcher,
        pool,
        producer,
        temporaryDir,
        parallel: config.mediaProcesses,
        logger,
        clock,
      },
      config.ingestConcurrency,
    );
    const runner = createRunner({
      database,
      clock,
      logger,
      workerId: newUuid(),
      workers: [
        ingestWorker,
        { queue: 'purge', concurrency: PURGE_CONCURRENCY, handler: createPurgeHandler({ blobs, segments: store }) },
        {
          queue: 'delete-test-asset',
          concurrency: 1,
          handler: (job: Job<{ assetId: string }>) => deleteTestAsset(context, job.payload.assetId),
        },
      ],
    });
    await runner.start();
    phases.push({ name: 'jobs', end: () => runner.stop(config.shutdownLimitMs / 2) });
    logger.info(
      { url, data_dir: config.dataDir, database: database.engine, sandbox: pool.sandbox },
      'Kinora is running',
    );

    const sampleToken = token ?? newToken;
    if (first.firstStart && config.sample && sampleToken) {
      const makeSample = async (): Promise<string> => {
        const outPath = join(temporaryDir, `sample-${newId()}`);
        const job = { kind: 'sample', outPath, width: 1920, height: 1080, seconds: SAMPLE_SECONDS } as const;
        await pool.run(job, { priority: mediaPriority.warmUp });
        await rename(outPath, samplePath);
        return `${config.streamUrl ?? url}/${await createSampleAsset(app, sampleToken, sampleUrl(url))}`;
      };
      samplePage = makeSample();
      // Whoever prints the page says so; without a listener the failure must still not end the process.
      samplePage.catch((error: unknown) => logger.warn({ err: error }, 'the sample video could not be made'));
    }
  };

  const stop = async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    for (const { name, end } of phases.splice(0).reverse()) {
      try {
        await end();
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

/** The public URL, with the real port where port 0 asked for a free one. */
const addressOf = (config: Config, address: AddressInfo): string => {
  if (config.publicUrl) return config.publicUrl;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `http://${host === '0.0.0.0' || host === '[::]' ? 'localhost' : host}:${address.port}`;
};
