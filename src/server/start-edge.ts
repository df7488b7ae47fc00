import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SegmentStore } from '../cache/segment-store.js';
import { callOrigin, EdgeLookups } from '../domain/edge/edge-lookups.js';
import { EdgeReports } from '../domain/edge/edge-reports.js';
import { edgeToken } from '../domain/edge/edge-token.js';
import { AccessCheck } from '../domain/playback/access-check.js';
import { BudgetLimits } from '../domain/usage/budget-limits.js';
import { Connections } from '../http/close-http.js';
import { createEdgeApp } from '../http/edge/edge-app.js';
import { isKinoraError } from '../lib/errors.js';
import { HELD_MS } from '../lib/ttl-cache.js';
import { OriginClient } from '../net/origin-client.js';
import { DiskSpace } from '../storage/disk/disk-space.js';
import { openDataDir } from './open-data-dir.js';
import { ownHostsOf } from './own-hosts.js';
import type { Base } from './parts.js';
import { startMetrics, urlOf } from './start-http.js';

/**
 * Starts an edge: a cache of the server at `KINORA_EDGE_ORIGIN`, without database and media
 * processes. Resolves to its URLs.
 * @throws KinoraError `config_invalid`, `data_dir_in_use`
 */
export const startEdge = async (
  base: Base,
  { originUrl, edgeSecret }: { readonly originUrl: string; readonly edgeSecret: string },
): Promise<{ readonly url: string; readonly metricsUrl: string | undefined }> => {
  const { config, logger, clock, metrics, phases } = base;
  await openDataDir(base);
  const diskSpace = new DiskSpace({ dir: config.dataDir, logger });
  phases.push({ name: 'disk space', end: () => diskSpace.stop() });
  const cache = await SegmentStore.open({
    dir: join(config.dataDir, 'cache'),
    maxBytes: config.cacheSizeBytes,
    hotBytes: config.hotSizeBytes,
    logger,
    clock,
  });
  phases.push({ name: 'segment store', end: () => cache.stop() });
  const origin = new OriginClient(originUrl);
  phases.push({ name: 'origin', end: () => origin.stop() });
  const token = edgeToken(edgeSecret);
  const lookups = new EdgeLookups({ origin, token }, clock);
  await lookups.check().catch((error: unknown) => {
    if (isKinoraError(error, 'config_invalid')) throw error;
    logger.warn({ err: error, origin: originUrl }, 'origin unavailable at the start');
  });
  const reports = new EdgeReports((path, body) => callOrigin({ origin, token }, path, body), logger);
  phases.push({ name: 'delivery reports', end: () => reports.stop() });
  const budgets = new BudgetLimits({
    read: async () => ({ exist: true, spent: await lookups.spentBudgets() }),
    clock,
    logger,
  });
  phases.push({ name: 'delivery budgets', end: () => budgets.stop() });
  await budgets.refresh();
  const { riskyUserAgents, trustedProxies, cacheTag } = config;
  const app = createEdgeApp({
    logger,
    clock,
    metrics,
    origin,
    token,
    cache,
    lookups,
    reports,
    budgets,
    trustedProxies,
    access: new AccessCheck({
      ...{ rows: lookups.rows, clock, childSecret: edgeSecret, riskyUserAgents },
      ownHosts: ownHostsOf(config),
    }),
    cacheTag,
    checks: { origin: () => lookups.check(), storage: () => diskSpace.check() },
    // What is in memory plays on.
    tolerances: { origin: HELD_MS },
  });
  const connections = new Connections(app);
  await app.listen({ host: config.host, port: config.port });
  phases.push({ name: 'http', end: (limitMs) => connections.close(limitMs) });
  const url = urlOf(config.host, app.server.address() as AddressInfo);
  logger.info({ url, origin: originUrl, data_dir: config.dataDir }, 'edge started');
  const metricsUrl = await startMetrics(base, {
    cacheBytes: () => cache.totalBytes,
    freeBytes: () => diskSpace.freeBytes(),
  });
  return { url, metricsUrl };
};
