import type { AddressInfo } from 'node:net';
import type { Config } from '../config/options.js';
import { readServerFigures } from '../control/server-figures.js';
import { readBudgets } from '../db/tables/playback/delivery-budget.js';
import { sessionCookieName } from '../domain/access/sessions.js';
import { createMasterOpener } from '../domain/assets/open-master.js';
import { createIsEdge } from '../domain/edge/edge-token.js';
import { accessRowsOf } from '../domain/playback/access-check.js';
import { DeliveryCounter } from '../domain/usage/delivery-counter.js';
import { createApp } from '../http/app.js';
import type { AppDeps } from '../http/app-deps.js';
import { Connections } from '../http/close-http.js';
import { edgeOriginRoutes } from '../http/edge/origin-routes.js';
import { imageRoutes } from '../http/image/image-routes.js';
import { liveRoute } from '../http/internal/live-route.js';
import { proxyToOwner } from '../http/internal/proxy-to-owner.js';
import { segmentRoute } from '../http/internal/segment-route.js';
import { createMetricsApp, type MetricsDeps } from '../http/ops/metrics.js';
import { sampleRoute } from '../http/ops/sample.js';
import { artifactRoutes } from '../http/stream/artifact-routes.js';
import { licenseRoutes } from '../http/stream/license-routes.js';
import { PlaybackOpener } from '../http/stream/playback-opener.js';
import { streamRoutes } from '../http/stream/stream-routes.js';
import { HELD_MS } from '../lib/ttl-cache.js';
import type { LiveServer } from '../live/live-server.js';
import { UploadUrls } from '../uploads/upload-urls.js';
import { createWhip } from './create-whip.js';
import type { Base, Parts } from './parts.js';

export interface HttpOptions {
  readonly samplePath: string;
  /** Whether jobs and webhooks have started. */
  readonly isWorking: () => boolean;
}

/**
 * Starts listening. Resolves to the local URL, with the actual port if port 0 requested a free one.
 */
export const startHttp = async (
  base: Base,
  parts: Parts,
  { samplePath, isWorking }: HttpOptions,
): Promise<{
  readonly localUrl: string;
  readonly metricsUrl: string | undefined;
  readonly connections: Connections;
}> => {
  const { config, logger, metrics, phases } = base;
  const { context, database } = parts;
  const app = createApp({
    ...context,
    logger,
    webhookSender: parts.webhookSender,
    apiExtensions: [...(parts.robots ? [parts.robots.apiExtension] : []), parts.audience.apiExtension],
    whip: createWhip(base, parts),
    owners: parts.nodes?.owners,
    texts: parts.texts,
    uploads: { sessions: parts.uploadSessions, urls: new UploadUrls(parts.installationSecret, context.apiUrl) },
    sessionCookie: sessionCookieName(parts.installationSecret),
    metrics,
    trustedProxies: config.trustedProxies,
    strictFields: config.strictFields,
    streamUrl: streamUrlOf(config),
    imageUrl: imageUrlOf(config),
    dataHost: config.dataHost,
    ingestUrls: (hostname) => ingestUrlsOf(config, parts.live.ports, hostname),
    srtServer: (hostname) => srtServerOf(config, parts.live.ports, hostname),
    rateLimits: {
      post: config.rateLimitPost,
      other: config.rateLimitOther,
      servers: () => parts.nodes?.count('api') ?? 1,
    },
    readFigures: () => readFigures(config, parts),
    checks: {
      database: () => database.ping(),
      storage: () => parts.diskSpace.check(),
      'media processes': () => parts.pool.check(),
      'background jobs': async () => {
        if (!isWorking()) throw new Error('the server is starting or stopping');
      },
    },
    roles: new Set(config.roles),
    // What is in memory plays on, and every node would be taken out of the load balancer at the
    // same time. An embedded database is unavailable for longer than a second only if this server's
    // disk is full or broken.
    tolerances: config.databaseUrl && config.roles.includes('stream') ? { database: HELD_MS } : {},
    streamPlugin: viewerRoutes(base, parts, samplePath),
  });
  const connections = new Connections(app);
  await app.listen({ host: config.host, port: config.port });
  phases.push({ name: 'http', end: (limitMs) => connections.close(limitMs) });
  const localUrl = urlOf(config.host, app.server.address() as AddressInfo);
  const metricsUrl = await startMetrics(base, {
    database,
    cacheBytes: () => parts.cache.totalBytes,
    freeBytes: () => parts.diskSpace.freeBytes(),
  });
  return { localUrl, metricsUrl, connections };
};

const streamUrlOf = ({ streamUrl, publicUrl }: Config): string | undefined => streamUrl ?? publicUrl;
const imageUrlOf = ({ imageUrl, publicUrl }: Config): string | undefined => imageUrl ?? publicUrl;

/** RTMPS first. `hostname` is that of a request. */
const ingestUrlsOf = ({ rtmpUrl, publicUrl }: Config, ports: LiveServer['ports'], hostname: string): string[] => {
  if (rtmpUrl !== undefined && (ports.has('rtmp') || ports.has('rtmps'))) return [rtmpUrl];
  const host = publicUrl === undefined ? hostname : new URL(publicUrl).hostname;
  return (['rtmps', 'rtmp'] as const).flatMap((scheme) =>
    ports.has(scheme) ? [`${scheme}://${host}:${ports.get(scheme)}/app`] : [],
  );
};

/** The host is that of RTMP, which may differ from that of the public URL. */
const srtServerOf = (
  { rtmpUrl, publicUrl }: Config,
  ports: LiveServer['ports'],
  hostname: string,
): string | undefined => {
  const url = rtmpUrl ?? publicUrl;
  const host = url === undefined ? hostname : new URL(url).hostname;
  return ports.has('srt') ? `srt://${host}:${ports.get('srt')}` : undefined;
};

/** Figures of the running server, for its administrators. */
const readFigures = async (config: Config, { database, cache, diskSpace, pool }: Parts): Promise<object> => ({
  ...(await readServerFigures({
    database,
    config,
    cacheBytes: () => cache.totalBytes,
    freeBytes: () => diskSpace.freeBytes(),
  })),
  disk_is_low: diskSpace.isLow(),
  node_version: process.versions.node,
  database: database.engine,
  data_dir: config.dataDir,
  sandbox: pool.sandbox,
  sandbox_advice: pool.sandboxAdvice ?? null,
  media_processes: config.mediaProcesses,
});

/** Everything below `/:playbackId`, and what servers request of each other. */
const viewerRoutes = (base: Base, parts: Parts, samplePath: string): NonNullable<AppDeps['streamPlugin']> => {
  const { config, clock, logger, phases } = base;
  const { context, database, blobs, images, playables, access, contentKeys, services, budgets, nodes } = parts;
  const deliveries = new DeliveryCounter({ database, clock, logger, isWatched: () => budgets.exist });
  phases.push({ name: 'delivery counter', end: () => deliveries.stop() });
  const isEdge = createIsEdge(config.edgeSecret);
  const opener = new PlaybackOpener(playables, access, budgets, config.cacheTag);
  const [streamUrl, imageUrl] = [streamUrlOf(config), imageUrlOf(config)];
  return async (app) => {
    if (nodes) {
      app.addHook('preHandler', proxyToOwner(nodes.owners, opener));
      await app.register(segmentRoute({ producer: parts.producer, signature: nodes.signature }));
      await app.register(liveRoute({ live: parts.live, signature: nodes.signature }));
    }
    await app.register(sampleRoute(samplePath));
    await app.register(
      artifactRoutes({
        ...context,
        openMaster: createMasterOpener({ ...context, blobs }),
        images,
      }),
    );
    if (parts.robots) await app.register(parts.robots.fileRoutes);
    await app.register(parts.audience.collectorRoute);
    await app.register(parts.audience.fileRoutes);
    if (config.edgeSecret !== undefined)
      await app.register(
        edgeOriginRoutes({
          ...{ isEdge, owners: nodes?.owners, playables, rows: accessRowsOf(database), deliveries },
          spentBudgets: async () => (await readBudgets(database.queryable, clock.now())).spent,
        }),
      );
    await app.register(
      streamRoutes({
        opener,
        playables,
        access,
        producer: parts.producer,
        texts: parts.texts,
        openRendition: (...of) => parts.renditions.open(...of),
        deliveries,
        contentKeys,
        logger,
        isEdge,
        streamUrl,
        imageUrl,
        isTracking: config.playerTracking,
        dataHost: config.dataHost,
      }),
    );
    await app.register(licenseRoutes({ playables, access, contentKeys, services, budgets }));
    await app.register(imageRoutes({ opener, images, imageUrl }));
  };
};

/** Resolves to the URL of the metrics if they are served. */
export const startMetrics = async (
  { config, logger, metrics, phases }: Base,
  figures: Omit<MetricsDeps, 'metrics' | 'logger'>,
): Promise<string | undefined> => {
  if (config.metricsPort === undefined) return undefined;
  const app = createMetricsApp({ ...figures, metrics, logger });
  const connections = new Connections(app);
  await app.listen({ host: config.metricsHost, port: config.metricsPort });
  phases.push({ name: 'metrics', end: (limitMs) => connections.close(limitMs) });
  return `${urlOf(config.metricsHost, app.server.address() as AddressInfo)}/metrics`;
};

export const urlOf = (host: string, { port }: Pick<AddressInfo, 'port'>): string => {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
};
