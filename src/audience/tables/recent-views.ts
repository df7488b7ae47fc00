import { sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import type { PointWindow } from '../calculations/monitoring.js';
import type { ViewFilter } from '../requests/filters.js';
import type { MonitoringDimension } from '../requests/monitoring-requests.js';
import { MAX_SECONDS } from '../requests/timeframe.js';
import { viewsOf } from './filter-views.js';
import { eachView } from './view-pages.js';
import { dimensionValue } from './view-values.js';

const columns = [
  'started_at',
  'seen_at',
  'ended_at',
  'is_startup_failure',
  'is_playback_failure',
  'is_business_exception',
  'video_startup_time',
  'average_bitrate',
  'events',
] as const;

export interface RecentView extends Pick<Row<'video_view'>, (typeof columns)[number]> {
  /** The value of the dimension; null when there is none, or no dimension was named. */
  readonly value: string | null;
}

/**
 * Calls `each` with the views that began before the end of the window and were seen since its
 * start.
 */
export const eachRecentView = (
  db: Queryable,
  environmentId: string,
  { fromMs, toMs }: PointWindow,
  {
    filters,
    dimension,
  }: { readonly filters: readonly ViewFilter[]; readonly dimension: MonitoringDimension | undefined },
  each: (view: RecentView) => void,
): Promise<void> => {
  const timeframe = [Math.floor(fromMs / 1000), MAX_SECONDS] as const;
  const views = viewsOf(db, environmentId, { timeframe, filters, metricFilters: [] }, 'seen_at')
    .where('video_view.started_at', '<', new Date(toMs))
    .select(columns)
    .select((dimension ? dimensionValue(dimension) : sql<null>`null::text`).as('value'));
  return eachView(views, 'seen_at', each);
};
