import { listEnvironments } from '../db/tables/server/environment.js';
import type { DomainContext } from '../domain/context.js';
import { readOverview } from './read-overview.js';

/** Views of all environments since a time, as `kinora stats` prints them. */
export const readAudienceStats = async (context: Pick<DomainContext, 'database' | 'clock'>, from: Date) => {
  const environments = await listEnvironments(context.database.queryable);
  const filter = { environmentIds: environments.map(({ id }) => id) };
  const overview = await readOverview(context, { filter, from, before: context.clock.now() });
  const { totals, viewers } = overview;
  return {
    since: overview.from.toISOString(),
    views: totals.views,
    viewers_now: viewers.now,
    /** In the last 24 hours. */
    viewers_peak: viewers.peak,
    watch_time_ms: totals.watchMs,
    startup_time_median_ms: totals.startupMedianMs,
    startup_time_p95_ms: totals.startupP95Ms,
    rebuffer_percentage: totals.rebufferShare,
    playback_failures: totals.playbackFailures,
    top_assets: overview.assets.map(({ id, title, views }) => ({ id, title, views })),
  };
};
