import type { Config } from '../config/options.js';
import type { Database } from '../db/database.js';
import {
  countAssets,
  countLiveJobs,
  type JobFigure,
  webhookLagSeconds,
} from '../db/tables/server/operating-figures.js';
import { readAv1Savings } from '../domain/usage/av1-savings.js';
import { systemClock } from '../lib/clock.js';
import { kinoraVersion } from '../lib/version.js';

/** What `stats` shows of the running server. */
export interface ServerFigures {
  readonly version: string;
  readonly pid: number;
  readonly uptime_seconds: number;
  readonly memory_bytes: number;
  readonly assets: Awaited<ReturnType<typeof countAssets>>;
  readonly jobs: readonly { readonly queue: string; readonly state: JobFigure['state']; readonly count: number }[];
  /** Age of the event that has waited longest for its delivery; 0 when none waits. */
  readonly webhook_lag_seconds: number;
  /** In the last 30 days; what was saved is an estimate. */
  readonly av1: { readonly delivered_bytes: number; readonly saved_bytes: number };
  readonly cache_bytes: number;
  readonly cache_limit_bytes: number;
  readonly disk_free_bytes: number;
}

/** Views of all environments. Times in milliseconds, null where nobody watched. */
export interface AudienceStats {
  /** ISO 8601. */
  readonly since: string;
  readonly views: number;
  readonly viewers_now: number;
  /** In the last 24 hours. */
  readonly viewers_peak: number;
  readonly watch_time_ms: number;
  readonly startup_time_median_ms: number | null;
  readonly startup_time_p95_ms: number | null;
  /** The part of the watch time that was spent waiting, from 0 to 1. */
  readonly rebuffer_percentage: number | null;
  readonly playback_failures: number;
  /** Most views first. */
  readonly top_assets: readonly { readonly id: string; readonly title: string | null; readonly views: number }[];
}

export interface FigureSources {
  readonly database: Database;
  readonly config: Pick<Config, 'cacheSizeBytes'>;
  readonly cacheBytes: () => number;
  readonly freeBytes: () => Promise<number>;
}

/** What AV1 saved in the last 30 days. */
export const readAv1Figures = async ({ queryable }: Database): Promise<ServerFigures['av1']> => {
  const { bytes, savedBytes } = await readAv1Savings(queryable, systemClock);
  return { delivered_bytes: bytes, saved_bytes: savedBytes };
};

export const readServerFigures = async ({
  database,
  config,
  cacheBytes,
  freeBytes,
}: FigureSources): Promise<ServerFigures> => ({
  version: kinoraVersion(),
  pid: process.pid,
  uptime_seconds: Math.floor(process.uptime()),
  memory_bytes: process.memoryUsage.rss(),
  assets: await countAssets(database.queryable),
  jobs: (await countLiveJobs(database.queryable)).map(({ queue, state, jobs }) => ({ queue, state, count: jobs })),
  webhook_lag_seconds: await webhookLagSeconds(database.queryable),
  av1: await readAv1Figures(database),
  cache_bytes: cacheBytes(),
  cache_limit_bytes: config.cacheSizeBytes,
  disk_free_bytes: await freeBytes(),
});
