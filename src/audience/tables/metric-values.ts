import { sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import { type AnyDimension, isDimension } from '../dimensions.js';
import type { Metric } from '../metrics.js';
import type { BreakdownRequest, InsightsRequest, MetricRequest } from '../requests/metric-requests.js';
import type { ViewSelection } from '../requests/view-selection.js';
import { endedViewsOf } from './filter-views.js';
import { aggregate, negativeImpact, viewTotals } from './metric-aggregates.js';
import { dimensionValue, metricValue } from './view-values.js';

/** Times in milliseconds; null when no view says. */
export interface ViewTotals {
  readonly views: number;
  readonly watchTime: number | null;
  readonly playingTime: number | null;
}

export interface OverallValue extends ViewTotals {
  readonly value: number | null;
}

const aggregateOf = ({ metric, measurement }: MetricRequest) => aggregate(metric, measurement);

export const readOverallValue = (db: Queryable, environmentId: string, request: MetricRequest): Promise<OverallValue> =>
  endedViewsOf(db, environmentId, request.selection, request.metric.time)
    .select([
      aggregateOf(request).as('value'),
      viewTotals.views.as('views'),
      viewTotals.watchTime.as('watchTime'),
      viewTotals.playingTime.as('playingTime'),
    ])
    .executeTakeFirstOrThrow();

export interface BreakdownValue extends ViewTotals {
  readonly field: string | null;
  readonly value: number;
  readonly negativeImpact: number;
}

/** What all groups are compared with, and in which order they come. */
interface GroupsRequest extends Omit<BreakdownRequest, 'page'> {
  readonly overall: number | null;
  readonly limit: number;
  readonly offset: number;
  /** Only groups of views with a value of the dimension that is worse than all views. */
  readonly onlyWorse?: boolean;
}

const readGroups = async (
  db: Queryable,
  environmentId: string,
  request: GroupsRequest,
): Promise<{ values: BreakdownValue[]; total: number }> => {
  const { metric, measurement, limit, offset, onlyWorse } = request;
  const value = aggregateOf(request);
  const groups = endedViewsOf(db, environmentId, request.selection, metric.time)
    .select([
      dimensionValue(request.dimension).as('field'),
      value.as('value'),
      viewTotals.views.as('views'),
      viewTotals.watchTime.as('watchTime'),
      viewTotals.playingTime.as('playingTime'),
    ])
    .groupBy(sql`1`)
    .having(sql<boolean>`${value} is not null`);
  const impact = negativeImpact(metric, measurement, {
    value: sql`value`,
    overall: sql`${request.overall}::float8`,
    views: sql`views`,
  });
  const order = {
    negative_impact: sql`"negativeImpact"`,
    value: sql`value`,
    views: sql`views`,
    field: sql`field collate "C"`,
  };
  const orderBy = sql`${order[request.orderBy]} ${sql.raw(request.direction)} nulls last, field collate "C"`;
  const { rows } = await sql<BreakdownValue & { total: number; exists: true | null }>`
    with groups as materialized (
      select *, ${impact} as "negativeImpact" from (${groups}) as groups
    ), selected as materialized (
      select * from groups ${onlyWorse ? sql`where field is not null and "negativeImpact" > 0` : sql``}
    )
    select page.*, (select count(*)::float8 from selected) as total
    from (select 1) as one
    left join (select true as exists, * from selected order by ${orderBy} limit ${limit} offset ${offset}) as page on true
    order by ${orderBy}`.execute(db);
  return {
    values: rows.filter(({ exists }) => exists).map(({ total: _, exists: __, ...breakdown }) => breakdown),
    total: rows[0]!.total,
  };
};

/** A page of the values of a dimension for which the metric has a value, and their number. */
export const readBreakdown = async (
  db: Queryable,
  environmentId: string,
  request: BreakdownRequest,
): Promise<{ values: BreakdownValue[]; total: number }> => {
  const { value: overall } = await readOverallValue(db, environmentId, request);
  return readGroups(db, environmentId, { ...request, ...request.page, overall });
};

/** The API has no pages of them. */
const MAX_INSIGHTS = 25;

const columns = ['asset_id', 'live_stream_id', 'playback_id'] as const;
/** Nearly every view has another value of these. */
const personal: readonly string[] = ['view_session_id', 'viewer_user_id', 'page_url'];

/** Stored dimensions of which some view has a value. */
const listReportedDimensions = async (
  db: Queryable,
  environmentId: string,
  { metric, selection }: MetricRequest,
): Promise<string[]> => {
  const views = endedViewsOf(db, environmentId, selection, metric.time).select('dimensions');
  const { rows } = await sql<{ name: string }>`
    select distinct name from (${views}) as views, jsonb_object_keys(dimensions) as name`.execute(db);
  return rows.map(({ name }) => name);
};

export interface Insight extends BreakdownValue {
  readonly dimension: AnyDimension;
}

/**
 * The values of all dimensions that worsen the metric most; the worst first when `desc`. Reads one
 * dimension after the other, so that other queries of the embedded database get their turn.
 */
export const readInsights = async (
  db: Queryable,
  environmentId: string,
  request: InsightsRequest,
): Promise<Insight[]> => {
  const { measurement, direction } = request;
  if (measurement === 'count' || measurement === 'sum') return [];
  const { value: overall } = await readOverallValue(db, environmentId, request);
  const names = [...columns, ...(await listReportedDimensions(db, environmentId, request))].sort();
  const worst: Insight[] = [];
  for (const dimension of names) {
    if (!isDimension(dimension) || personal.includes(dimension)) continue;
    const { values } = await readGroups(db, environmentId, {
      ...{ ...request, dimension, overall, onlyWorse: true },
      ...{ orderBy: 'negative_impact', direction: 'desc', limit: MAX_INSIGHTS, offset: 0 },
    });
    worst.push(...values.map((value) => ({ dimension, ...value })));
  }
  const insights = worst.sort((a, b) => b.negativeImpact - a.negativeImpact).slice(0, MAX_INSIGHTS);
  return direction === 'desc' ? insights : insights.reverse();
};

/** The start of an interval in Unix seconds, and the views that have a value. */
export interface IntervalValue {
  readonly start: number;
  readonly value: number | null;
  readonly views: number;
}

/** Of intervals with views. They begin at multiples of `step`, their length in seconds. */
export const readIntervals = (
  db: Queryable,
  environmentId: string,
  request: MetricRequest,
  step: number,
): Promise<IntervalValue[]> => {
  const { metric, selection } = request;
  const time = sql.ref(`video_view.${metric.time}`);
  return endedViewsOf(db, environmentId, selection, metric.time)
    .select([
      sql<number>`(floor(extract(epoch from ${time}) / ${sql.lit(step)}) * ${sql.lit(step)})::float8`.as('start'),
      aggregateOf(request).as('value'),
      sql<number>`count(${metricValue(metric.id)})::float8`.as('views'),
    ])
    .groupBy(sql`1`)
    .execute();
};

/** The values of several metrics with their default measurements; all have the same time. */
export const readMetricValues = async (
  db: Queryable,
  environmentId: string,
  metrics: readonly Metric[],
  selection: ViewSelection,
): Promise<OverallValue['value'][]> => {
  const row = await endedViewsOf(db, environmentId, selection, metrics[0]!.time)
    .select(metrics.map((metric) => aggregate(metric, metric.measurement).as(metric.id)))
    .executeTakeFirstOrThrow();
  return metrics.map(({ id }) => (row as Record<string, number | null>)[id]!);
};

export interface ComparisonTotals extends ViewTotals {
  readonly viewers: number;
}

export const readTotals = (
  db: Queryable,
  environmentId: string,
  selection: ViewSelection,
  time: Metric['time'],
): Promise<ComparisonTotals> =>
  endedViewsOf(db, environmentId, selection, time)
    .select([
      viewTotals.views.as('views'),
      viewTotals.watchTime.as('watchTime'),
      viewTotals.playingTime.as('playingTime'),
      sql<number>`count(distinct video_view.viewer_id)::float8`.as('viewers'),
    ])
    .executeTakeFirstOrThrow();
