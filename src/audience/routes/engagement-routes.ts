import { readPositive } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import type { ApiRequest, Route } from '../../http/plugins/operation-route.js';
import { KinoraError } from '../../lib/errors.js';
import { Problems } from '../../lib/problems.js';
import { findHotspots } from '../calculations/heatmap.js';
import { findWatched } from '../find-watched.js';
import { readDirection } from '../requests/query-values.js';
import { readViewTimeframe } from '../requests/timeframe.js';
import { mayBeWatched } from '../tables/watched-ranges.js';

const targets = [
  { name: 'Asset', dimension: 'asset_id', parameter: 'assetId' },
  { name: 'PlaybackId', dimension: 'playback_id', parameter: 'playbackId' },
  { name: 'Video', dimension: 'video_id', parameter: 'videoId' },
] as const;

/** Which parts viewers watch. */
export const engagementRoutes = (route: Route<string>, { database, clock }: DomainContext): void => {
  for (const { name, dimension, parameter } of targets) {
    const read = async ({ caller, params, query }: ApiRequest, problems: Problems) => {
      const timeframe = readViewTimeframe(query, clock.now(), problems);
      problems.throwIfAny(query);
      const id = params[parameter]!;
      // The database takes no NUL in a text.
      if (id.includes('\0')) throw new KinoraError('not_found');
      const target = { environmentId: caller.environment.id, dimension, id, timeframe };
      const watched = await findWatched(database.queryable, target);
      if (watched.views === 0 && !(await mayBeWatched(database.queryable, target))) throw new KinoraError('not_found');
      return { timeframe, ...watched };
    };

    route(`get${name}Heatmap`, async (request) => {
      const { timeframe, views, value } = await read(request, new Problems());
      return { data: { total_views: views, value }, timeframe, total_row_count: null };
    });

    route(`list${name}Hotspots`, async (request) => {
      const problems = new Problems();
      const limit = readPositive(request.query, 'limit', Number.POSITIVE_INFINITY, problems);
      const direction = readDirection(request.query, problems) ?? 'desc';
      const { timeframe, views, value, durationMs } = await read(request, problems);
      const hotspots = findHotspots(value, durationMs, direction).slice(0, limit);
      return { data: { total_views: views, hotspots }, timeframe, total_row_count: hotspots.length };
    });
  }
};
