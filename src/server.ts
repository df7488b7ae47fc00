import { join } from 'node:path';
import type { Config } from './config/options.js';
import { createControlHandlers } from './control/control-handlers.js';
import { ControlServer } from './control/control-server.js';
import type { Database } from './db/database.js';
import { consoleLinkUrl, createConsoleLink } from './domain/access/sessions.js';
import type { DomainContext } from './domain/context.js';
import type { Connections } from './http/close-http.js';
import { createSampleAsset, sampleUrl } from './http/ops/sample.js';
import { sweepDeleted } from './jobs/sweep-deleted.js';
import { sweepUnfinished } from './jobs/sweep-unfinished.js';
import { type Clock, systemClock } from './lib/clock.js';
import type { Membership } from './nodes/membership.js';
import { connectParts } from './server/connect-parts.js';
import { robots } from './server/connect-robots.js';
import { makeSample } from './server/make-sample.js';
import { openDataDir } from './server/open-data-dir.js';
import { beginDatabase, prepareDatabase } from './server/open-database.js';
import type { Base, Parts } from './server/parts.js';
import { Phases } from './server/phases.js';
import { startEdge } from './server/start-edge.js';
import { startHttp } from './server/start-http.js';
import { startJobs } from './server/start-jobs.js';
import { startLive } from './server/start-live.js';
import { startMedia } from './server/start-media.js';
import { describeTranscriber } from './speech/create-transcriber.js';
import type { LogTail } from './telemetry/log-tail.js';
import { createLogger, type Logger } from './telemetry/logger.js';
import { Metrics } from './telemetry/metrics.js';

/** What callers and tests put in place of the defaults. */
export interface Overrides extends Partial<Pick<Base, 'resolve' | 'mediaProcesses' | 'chat' | 'robots'>> {
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** What the log went through, for `kinora logs`. */
  readonly logTail?: LogTail;
}

/**
 * A server and everything that it holds. The composition root: concrete parts meet here and in
 * `server/`, and nowhere else.
 */
export class Kinora {
  readonly #base: Base;
  readonly #logTail: LogTail | undefined;
  #state: 'starting' | 'working' | 'stopping' = 'starting';
  #urls: { readonly url: string; readonly metricsUrl?: string | undefined } = { url: '' };
  #database: Database | undefined;
  #nodes: Membership | undefined;
  #connections: Connections | undefined;
  #newToken: string | undefined;
  #samplePage: Promise<string | undefined> | undefined;
  #ingest: readonly string[] = [];
  readonly #livePhases: Phases;

  constructor(config: Config, overrides: Overrides = {}) {
    const logger = overrides.logger ?? createLogger(config.logLevel, config.logFormat);
    const clock = overrides.clock ?? systemClock;
    const metrics = new Metrics();
    const phases = new Phases(clock, logger);
    this.#livePhases = new Phases(clock, logger);
    this.#base = { robots, ...overrides, config, logger, clock, metrics, phases };
    this.#logTail = overrides.logTail;
  }

  /** Where it listens, known after `start`. */
  get url(): string {
    return this.#urls.url;
  }

  /** Known after `start`: URLs for encoders, or why there is none. */
  get ingest(): readonly string[] {
    return this.#ingest;
  }

  /** Known after `start`, when metrics are served. */
  get metricsUrl(): string | undefined {
    return this.#urls.metricsUrl;
  }

  /**
   * Present after the first start of a database that made its own token: it stays in its file and,
   * as a hash, in the database.
   */
  get firstStart(): { readonly token: string } | undefined {
    return this.#newToken === undefined ? undefined : { token: this.#newToken };
  }

  /**
   * URL of the page that plays the sample asset, on a first start that makes one; undefined when it
   * failed (logged).
   */
  get samplePage(): Promise<string | undefined> | undefined {
    return this.#samplePage;
  }

  /** Makes the URL of a link that signs in to the console once; call it after `start`. */
  async createConsoleLink(): Promise<string> {
    return consoleLinkUrl(this.url, await createConsoleLink(this.#database!, this.#base.clock));
  }

  /** @throws KinoraError `data_dir_in_use`, `config_invalid`, `unavailable` */
  async start(): Promise<void> {
    try {
      const { edgeOrigin: originUrl, edgeSecret, roles } = this.#base.config;
      if (originUrl !== undefined && edgeSecret !== undefined && roles.includes('edge'))
        this.#urls = await startEdge(this.#base, { originUrl, edgeSecret });
      else await this.#startServer();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Ends in phases, each within its share of the limit; safe after a failed `start`. */
  async stop(): Promise<void> {
    this.#state = 'stopping';
    this.#connections?.leave();
    // Before the rest, so that others continue its broadcasts while it still passes viewers on to
    // them.
    const { config, clock, phases } = this.#base;
    const untilMs = clock.monotonicMs() + config.shutdownLimitMs;
    await this.#livePhases.end(config.shutdownLimitMs, 'live streams stopped');
    const leftMs = Math.max(untilMs - clock.monotonicMs(), config.shutdownLimitMs / 2);
    await this.#nodes?.drain();
    await phases.end(leftMs, 'server stopped');
  }

  async #startServer(): Promise<void> {
    const { config, logger } = this.#base;
    const { isFresh } = await openDataDir(this.#base);
    // Creating the embedded database takes seconds on a thread of its own: the media processes
    // start meanwhile.
    const opening = beginDatabase(this.#base);
    const media = await startMedia(this.#base);
    const samplePath = join(config.dataDir, 'sample.mp4');
    // The file is on the disk of one server, and its address that of any.
    const hasSample = config.sample && config.blobs === 'file';
    // Begun before the database can tell that this is the first start, because both take seconds.
    let sample = isFresh && hasSample ? makeSample(media, samplePath) : undefined;
    // A failure is logged where the sample is used; until then it must not end the process.
    sample?.catch(() => undefined);

    const database = await opening;
    this.#database = database;
    const first = await prepareDatabase(this.#base, database);
    this.#newToken = first.newToken;
    await sweepUnfinished({ database, blobs: media.blobs, logger });
    const parts = await connectParts(this.#base, media, database, () => this.url);
    const isWorking = (): boolean => this.#state === 'working';
    const { localUrl, metricsUrl, connections } = await startHttp(this.#base, parts, { samplePath, isWorking });
    this.#connections = connections;
    this.#urls = { url: config.publicUrl ?? localUrl, metricsUrl };
    this.#nodes = await this.#joinNodes(parts, localUrl);
    if (config.roles.includes('jobs')) await startJobs(this.#base, parts, localUrl, this.#nodes);
    this.#ingest = await startLive({ ...this.#base, phases: this.#livePhases }, parts);
    await this.#startControl(parts, localUrl);
    this.#state = 'working';
    this.#logStart(parts);
    if (!first.firstStart || !hasSample) return;
    sample ??= makeSample(media, samplePath);
    this.#samplePage = this.#publishSample(sample, parts.context, localUrl);
  }

  async #joinNodes(parts: Parts, localUrl: string): Promise<Membership | undefined> {
    const { phases, logger } = this.#base;
    const nodes = await parts.nodes?.start(localUrl);
    if (!nodes) return undefined;
    phases.push({ name: 'announcement', end: () => nodes.stop() });
    const stopSweep = await sweepDeleted({ ...parts, logger });
    phases.push({ name: 'removal of deleted assets', end: stopSweep });
    return nodes;
  }

  async #startControl(parts: Parts, localUrl: string): Promise<void> {
    const { config, logger, phases } = this.#base;
    const handlers = createControlHandlers({
      database: parts.database,
      config,
      speech: describeTranscriber(config),
      context: parts.context,
      url: localUrl,
      pool: parts.pool,
      readAudience: parts.audience.readStats,
      logTail: this.#logTail,
      cacheBytes: () => parts.cache.totalBytes,
      freeBytes: () => parts.diskSpace.freeBytes(),
    });
    const control = await ControlServer.start(config.dataDir, handlers, logger);
    phases.push({ name: 'control socket', end: () => control.stop() });
  }

  #logStart({ database, pool }: Parts): void {
    const { config, logger } = this.#base;
    const fields = {
      url: this.url,
      data_dir: config.dataDir,
      database: database.engine,
      sandbox: pool.sandbox,
      speech: describeTranscriber(config) ?? 'none',
      metrics_url: this.metricsUrl,
    };
    logger.info(fields, 'server started');
  }

  async #publishSample(sample: Promise<void>, context: DomainContext, localUrl: string): Promise<string | undefined> {
    const { config, logger } = this.#base;
    try {
      await sample;
      const playbackId = await createSampleAsset(context, sampleUrl(localUrl));
      return `${config.streamUrl ?? this.url}/${playbackId}`;
    } catch (error) {
      // No reason to end: everything else works.
      if (this.#state !== 'stopping') logger.warn({ err: error }, 'sample video failed');
      return undefined;
    }
  }
}
