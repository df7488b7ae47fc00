import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { Schema } from '../../db/schema.js';
import type { Window } from '../../domain/usage/list-delivery-usage.js';
import type { ViewFilter } from '../requests/filters.js';
import type { MetricFilter } from '../requests/metric-filters.js';
import type { ViewSelection } from '../requests/view-selection.js';
import { dimensionValue, metricValue, traceElements } from './view-values.js';

export type SelectedViews = SelectQueryBuilder<Schema, 'video_view', object>;

/** Which time must be in the time frame. `ended_at`: only views that have ended. */
export type ViewTime = 'started_at' | 'ended_at' | 'seen_at';

export const dateAt = (unixSeconds: number): Date => new Date(unixSeconds * 1000);

const betweenTimes = (time: ViewTime, [start, end]: Window): RawBuilder<boolean> => {
  const column = sql.ref(`video_view.${time}`);
  return sql`(${column} >= ${dateAt(start)}::timestamptz and ${column} < ${dateAt(end)}::timestamptz)`;
};

const meets = (filter: ViewFilter): RawBuilder<boolean> => {
  switch (filter.kind) {
    case 'is':
      return sql`(${dimensionValue(filter.dimension)} is not distinct from ${filter.value}::text)`;
    case 'is_not':
      return sql`(${dimensionValue(filter.dimension)} is distinct from ${filter.value}::text)`;
    case 'has':
      return sql`coalesce(${filter.element} = any(${traceElements(filter.dimension)}), false)`;
    case 'lacks':
      return sql`not coalesce(${filter.element} = any(${traceElements(filter.dimension)}), false)`;
    case 'trace':
      return sql`(coalesce(${traceElements(filter.dimension)}, '{}') = ${filter.elements}::text[])`;
  }
};

/** Values that the same dimension is to have are alternatives; all other conditions must be met. */
const alternativesOf = (filters: readonly ViewFilter[]): ViewFilter[][] => {
  const byDimension = new Map<string, ViewFilter[]>();
  for (const [at, filter] of filters.entries()) {
    const isAlternative = filter.kind === 'is' || filter.kind === 'trace';
    const key = isAlternative ? filter.dimension : String(at);
    byDimension.set(key, [...(byDimension.get(key) ?? []), filter]);
  }
  return [...byDimension.values()];
};

const meetsMetric = ({ metric, operator, value }: MetricFilter): RawBuilder<boolean> =>
  sql`(${metricValue(metric)} ${sql.raw(operator)} ${value}::float8)`;

/**
 * The views that a request is about: those of the environment whose `time` is in the time frame
 * and which meet all filters. Nothing is selected yet.
 */
export const viewsOf = (
  db: Queryable,
  environmentId: string,
  { timeframe, filters, metricFilters }: ViewSelection,
  time: ViewTime,
): SelectedViews => {
  let views = db
    .selectFrom('video_view')
    .where('video_view.environment_id', '=', environmentId)
    .where(betweenTimes(time, timeframe));
  for (const alternatives of alternativesOf(filters)) {
    views = views.where(sql<boolean>`(${sql.join(alternatives.map(meets), sql` or `)})`);
  }
  for (const filter of metricFilters) views = views.where(meetsMetric(filter));
  return views;
};

/** Those of them that have ended: metrics are made of these. */
export const endedViewsOf = (
  db: Queryable,
  environmentId: string,
  selection: ViewSelection,
  time: 'started_at' | 'ended_at',
): SelectedViews => viewsOf(db, environmentId, selection, time).where('video_view.ended_at', 'is not', null);
