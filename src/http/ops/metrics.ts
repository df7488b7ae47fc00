import fastify, { type FastifyInstance, LogController } from 'fastify';
import type { Database } from '../../db/database.js';
import { countLiveJobs, webhookLagSeconds } from '../../db/tables/server/operating-figures.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Metrics, Sample } from '../../telemetry/metrics.js';

export interface MetricsDeps {
  readonly metrics: Metrics;
  /** Absent on an edge. */
  readonly database?: Database;
  readonly cacheBytes: () => number;
  /** The free space on the disk of the data directory. */
  readonly freeBytes: () => Promise<number>;
  readonly logger: Logger;
}

/**
 * `GET /metrics` on a separate app, and so on a separate port: it requires no credentials, and not
 * everyone who can reach the API should see the metrics.
 */
export const createMetricsApp = ({
  metrics,
  database,
  cacheBytes,
  freeBytes,
  logger,
}: MetricsDeps): FastifyInstance => {
  /** An unavailable database must not hide the other metrics. */
  const orNothing =
    (read: () => Promise<readonly Sample[]>): (() => Promise<readonly Sample[]>) =>
    () =>
      read().catch((error: unknown) => {
        logger.warn({ err: error }, 'metric not readable');
        return [];
      });
  metrics.watchProcess();
  if (database) watchDatabase(metrics, database, orNothing);
  metrics.watch({ name: 'kinora_segment_cache_bytes', help: 'Size of the segment cache' }, async () => [
    { value: cacheBytes() },
  ]);
  metrics.watch(
    { name: 'kinora_data_free_bytes', help: 'Free space on the disk of the data directory' },
    orNothing(async () => [{ value: await freeBytes() }]),
  );

  const app = fastify({ logController: new LogController({ disableRequestLogging: true }) });
  app.get('/metrics', async (_, reply) =>
    reply
      .header('Cache-Control', 'no-store')
      .type(metrics.contentType)
      .send(await metrics.read()),
  );
  return app;
};

const watchDatabase = (
  metrics: Metrics,
  { queryable: db }: Database,
  orNothing: (read: () => Promise<readonly Sample[]>) => () => Promise<readonly Sample[]>,
): void => {
  metrics.watch(
    { name: 'kinora_jobs', help: 'Background jobs that wait or run', labels: ['queue', 'state'] },
    orNothing(async () =>
      (await countLiveJobs(db)).map(({ queue, state, jobs }) => ({ labels: { queue, state }, value: jobs })),
    ),
  );
  metrics.watch(
    { name: 'kinora_job_oldest_seconds', help: 'How long the oldest due job has been waiting', labels: ['queue'] },
    orNothing(async () =>
      (await countLiveJobs(db))
        .filter(({ state }) => state === 'queued')
        .map(({ queue, oldestSeconds }) => ({ labels: { queue }, value: oldestSeconds })),
    ),
  );
  metrics.watch(
    { name: 'kinora_webhook_lag_seconds', help: 'Age of the oldest event that waits for its delivery' },
    orNothing(async () => [{ value: await webhookLagSeconds(db) }]),
  );
};
