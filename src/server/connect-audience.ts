import { ViewCollector } from '../audience/beacons/view-collector.js';
import { findWatched } from '../audience/find-watched.js';
import { purgeViews } from '../audience/purge-views.js';
import { readAudienceStats } from '../audience/read-stats.js';
import { audienceRoutes } from '../audience/routes/audience-routes.js';
import { collectorRoute } from '../audience/routes/collector-route.js';
import { exportRoutes } from '../audience/routes/view-export.js';
import { ViewSums } from '../audience/view-sums.js';
import { HourlyWork } from '../jobs/hourly-work.js';
import type { Base, Parts } from './parts.js';

/** Connects the audience. Nothing else of the server knows it. */
export const connectAudience = (
  { config, clock, logger, metrics, phases }: Base,
  { context, database }: Omit<Parts, 'robots' | 'audience'>,
): Parts['audience'] => {
  const collector = new ViewCollector({ database, clock, logger, metrics });
  phases.push({ name: 'reports of views', end: () => collector.stop() });
  const { dataHost, countryHeader, viewRetentionMs: retentionMs } = config;
  return {
    apiExtension: audienceRoutes(context),
    fileRoutes: exportRoutes(context),
    collectorRoute: collectorRoute({ collector, clock, dataHost, countryHeader }),
    sums: new ViewSums({ database, clock, logger }),
    purge: new HourlyWork(
      (isStopping) => purgeViews({ database, clock, logger, retentionMs }, isStopping),
      logger,
      'removal of old views failed, retrying in an hour',
    ),
    readStats: (from) => readAudienceStats(context, from),
    findWatched: async ({ id, environment_id: environmentId }) => {
      const timeframe = [0, Math.ceil(clock.now().getTime() / 1000) + 1] as const;
      const target = { environmentId, dimension: 'asset_id', id, timeframe } as const;
      const watched = await findWatched(database.queryable, target);
      return watched.views > 0 ? watched : undefined;
    },
  };
};
