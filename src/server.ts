import { join } from 'node:path';
import type { Config } from './config/options.js';
import { createControlHandlers } from './control/control-handlers.js';
import { startControlServer } from './control/control-server.js';
import type { Database } from './db/database.js';
import { consoleLinkUrl, createConsoleLink } from './domain/access/sessions.js';
import { createSampleAsset, sampleUrl } from './http/ops/sample.js';
import { sweepDeleted } from './jobs/sweep-deleted.js';
import { sweepUnfinished } from './jobs/sweep-unfinished.js';
import { type Clock, systemClock } from './lib/clock.js';
import { connectParts } from './server/connect-parts.js';
import { makeSample } from './server/make-sample.js';
import { openDataDir } from './server/open-data-dir.js';
import { beginDatabase, prepareDatabase } from './server/open-database.js';
import type { Base } from './server/parts.js';
import { endPhases } from './server/phases.js';
import { startEdge } from './server/start-edge.js';
import { startHttp } from './server/start-http.js';
import { startJobs } from './server/start-jobs.js';
import { startMedia } from './server/start-media.js';
import { describeTranscriber } from './speech/create-transcriber.js';
import type { LogTail } from './telemetry/log-tail.js';
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
  /** Makes the URL of a link that signs in to the console once; call it after `start`. */
  createConsoleLink(): Promise<string>;
  /** URL of the page that plays the sample asset, on a first start that makes one; undefined when it failed (logged). */
  readonly samplePage?: Promise<string | undefined>;
  /** @throws KinoraError `data_dir_in_use`, `config_invalid`, `unavailable` */
  start(): Promise<void>;
  /** Ends in phases, each within its share of the limit; safe after a failed `start`. */
  stop(): Promise<void>;
}

/** What callers and tests put in place of the defaults. */
export interface Overrides extends Pick<Base, 'resolve' | 'mediaProcesses' | 'chat'> {
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** What the log went through, for `kinora logs`. */
  readonly logTail?: LogTail;
}

/** The composition root: concrete parts meet here and in `server/`, and nowhere else. */
export const createKinora = async (config: Config, overrides: Overrides = {}): Promise<Kinora> => {
  const base: Base = {
    ...overrides,
    config,
    logger: overrides.logger ?? createLogger(config.logLevel, config.logFormat),
    clock: overrides.clock ?? systemClock,
    metrics: createMetrics(),
    phases: [],
  };
  const { logger, phases } = base;
  // The file is on the disk of one server, and its address that of any.
  const hasSample = config.sample && config.blobs === 'file';
  let url = '';
  let metricsUrl: string | undefined;
  let stopping = false;
  /** Jobs and webhooks are taken up. */
  let isWorking = false;
  let newToken: string | undefined;
  let samplePage: Promise<string | undefined> | undefined;
  let database: Database;
  let drain: (() => Promise<void>) | undefined;

  const start = async (): Promise<void> => {
    const { edgeOrigin: originUrl, edgeSecret } = config;
    if (originUrl !== undefined && edgeSecret !== undefined && config.roles.includes('edge')) {
      ({ url, metricsUrl } = await startEdge(base, { originUrl, edgeSecret }));
      return;
    }
    const { isFresh } = await openDataDir(base);
    // Creating the embedded database takes seconds on a thread of its own: the media processes start meanwhile.
    const opening = beginDatabase(base);
    const media = await startMedia(base);
    const samplePath = join(config.dataDir, 'sample.mp4');
    // Begun before the database can tell that this is the first start, because both take seconds.
    let sample = isFresh && hasSample ? makeSample(media, samplePath) : undefined;
    // A failure is logged where the sample is used; until then it must not end the process.
    sample?.catch(() => undefined);

    database = await opening;
    const first = await prepareDatabase(base, database);
    newToken = first.newToken;
    await sweepUnfinished({ database, blobs: media.blobs, logger });
    const parts = await connectParts(base, media, database, () => url);
    const listening = await startHttp(base, parts, { samplePath, isWorking: () => isWorking });
    const { localUrl } = listening;
    ({ metricsUrl } = listening);
    url = config.publicUrl ?? localUrl;
    const nodes = await parts.nodes?.start(localUrl);
    if (nodes) {
      phases.push({ name: 'announcement', end: () => nodes.stop() });
      const stopSweep = await sweepDeleted({ ...parts, logger });
      phases.push({ name: 'removal of deleted assets', end: stopSweep });
      drain = () => nodes.drain();
    }
    if (config.roles.includes('jobs')) await startJobs(base, parts, localUrl, nodes);
    const speech = describeTranscriber(config);
    const handlers = createControlHandlers({
      ...{ database, config, speech },
      context: parts.context,
      url: localUrl,
      pool: parts.pool,
      logTail: overrides.logTail,
      cacheBytes: () => parts.store.totalBytes,
      freeBytes: () => parts.diskSpace.freeBytes(),
    });
    const control = await startControlServer(config.dataDir, handlers, logger);
    phases.push({ name: 'control socket', end: () => control.stop() });
    isWorking = true;
    logger.info(
      {
        url,
        data_dir: config.dataDir,
        database: database.engine,
        sandbox: parts.pool.sandbox,
        speech: speech ?? 'none',
        ...(metricsUrl && { metrics_url: metricsUrl }),
      },
      'server started',
    );
    if (!first.firstStart || !hasSample) return;
    sample ??= makeSample(media, samplePath);
    samplePage = sample
      .then(() => createSampleAsset(parts.context, sampleUrl(localUrl)))
      .then((playbackId) => `${config.streamUrl ?? url}/${playbackId}`)
      .catch((error: unknown) => {
        // No reason to end: everything else works.
        if (!stopping) logger.warn({ err: error }, 'sample video failed');
        return undefined;
      });
  };

  const stop = async (): Promise<void> => {
    stopping = true;
    isWorking = false;
    await drain?.();
    if (phases.length > 0) await endPhases(phases, { ...base, limitMs: config.shutdownLimitMs });
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
    createConsoleLink: async () => consoleLinkUrl(url, await createConsoleLink(database, base.clock)),
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
