import { sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import { advancedDimensions, basicDimensions, type Dimension, derivedDimensions } from '../dimensions.js';
import type { Metric } from '../metrics.js';
import type { BreakdownRequest, InsightsRequest, MetricRequest } from '../requests/metric-requests.js';
import type { ViewSelection } from '../requests/view-selection.js';
import { endedViewsOf } from './filter-views.js';
import { aggregate, negativeImpact, partsOf, viewTotals } from './metric-aggregates.js';
import { dimensionValue } from './view-values.js';

/** Times in milliseconds; null when no view says. */
export interface ViewTotals {
  readonly views: number;
  readonly watchTime: number | null;
  readonly playingTime: number | null;
}

export interface OverallValue extends ViewTotals {
  readonly value: number | null;
}

const aggregateOf = ({ metric, measurement }: MetricRequest) => aggregate(metric, measurement, partsOf(metric));

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

/** A page of the values of a dimension for which the metric has a value, and their number. */
export const readBreakdown = async (
  db: Queryable,
  environmentId: string,
  request: BreakdownRequest,
): Promise<{ values: BreakdownValue[]; total: number }> => {
  const { metric, measurement, selection, dimension, page } = request;
  const views = endedViewsOf(db, environmentId, selection, metric.time);
  const value = aggregateOf(request);
  const groups = views
    .select([
      dimensionValue(dimension).as('field'),
      value.as('value'),
      viewTotals.views.as('views'),
      viewTotals.watchTime.as('watchTime'),
      viewTotals.playingTime.as('playingTime'),
    ])
    .groupBy(sql`1`)
    .having(sql<boolean>`${value} is not null`);
  const impact = negativeImpact(metric, measurement, {
    value: sql`groups.value`,
    overall: sql`overall.value`,
    views: sql`groups.views`,
  });
  const orders = { negative_impact: impact, value: sql`value`, views: sql`views`, field: sql`field collate "C"` };
  const direction = sql.raw(request.direction);
  const { rows } = await sql<BreakdownValue & { total: number; exists: true | null }>`
    with groups as materialized (${groups}), overall as (${views.select(value.as('value'))})
    select page.*, (select count(*)::float8 from groups) as total
    from (select 1) as one left join (
      select true as exists, groups.*, ${impact} as "negativeImpact" from groups, overall
      order by ${orders[request.orderBy]} ${direction} nulls last, field collate "C"
      limit ${page.limit} offset ${page.offset}
    ) as page on true
    order by ${request.orderBy === 'negative_impact' ? sql`"negativeImpact"` : orders[request.orderBy]} ${direction}
      nulls last, field collate "C"`.execute(db);
  return {
    values: rows.filter(({ exists }) => exists).map(({ total: _, exists: __, ...breakdown }) => breakdown),
    total: rows[0]!.total,
  };
};

/** The API has no pages of them. */
const MAX_INSIGHTS = 25;

/** Nearly every view has another value of these. */
const personal: readonly string[] = ['view_session_id', 'viewer_user_id', 'page_url'];
const columns = ['asset_id', 'live_stream_id', 'playback_id'] as const;
const storedDimensions: readonly Dimension[] = [...basicDimensions, ...advancedDimensions].filter(
  (dimension) =>
    !personal.includes(dimension) &&
    !(columns as readonly string[]).includes(dimension) &&
    !(derivedDimensions as readonly string[]).includes(dimension),
);

export interface Insight extends ViewTotals {
  readonly dimension: string;
  readonly field: string;
  readonly value: number;
  readonly negativeImpact: number;
}

/** The values of all dimensions that worsen the metric most; the worst first when `desc`. */
export const readInsights = async (
  db: Queryable,
  environmentId: string,
  request: InsightsRequest,
): Promise<Insight[]> => {
  const { metric, measurement, selection } = request;
  const { value, quotient } = partsOf(metric);
  const views = endedViewsOf(db, environmentId, selection, metric.time).select([
    'dimensions',
    ...columns,
    'viewer_id',
    'watch_time',
    'playing_time',
    value.as('value'),
    (quotient?.part ?? sql<null>`null::float8`).as('part'),
    (quotient?.whole ?? sql<null>`null::float8`).as('whole'),
  ]);
  const outer = {
    value: sql<number>`video_view.value`,
    quotient: quotient && { part: sql<number>`video_view.part`, whole: sql<number>`video_view.whole` },
  };
  const total = aggregate(metric, measurement, outer);
  const impact = negativeImpact(metric, measurement, {
    value: sql`groups.value`,
    overall: sql`overall.value`,
    views: sql`groups.views`,
  });
  const { rows } = await sql<Insight>`
    with video_view as materialized (${views}), overall as (select ${total} as value from video_view),
    groups as (
      select property.name as dimension, property.value as field, ${total} as value, ${viewTotals.views} as views,
        ${viewTotals.watchTime} as "watchTime", ${viewTotals.playingTime} as "playingTime"
      from video_view cross join lateral (
        select key as name, value from jsonb_each_text(video_view.dimensions) where key = any(${storedDimensions}::text[])
        union all
        select * from (values ${sql.join(columns.map((name) => sql`(${sql.lit(name)}, ${sql.ref(`video_view.${name}`)})`))})
          as columns (name, value) where columns.value is not null
      ) as property
      group by 1, 2 having ${total} is not null
    ), worst as (
      select groups.*, ${impact} as "negativeImpact" from groups, overall
      where ${impact} > 0 order by "negativeImpact" desc, dimension, field collate "C" limit ${MAX_INSIGHTS}
    )
    select * from worst order by "negativeImpact" ${sql.raw(request.direction)}, dimension, field collate "C"`.execute(
    db,
  );
  return rows;
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
  const { value } = partsOf(metric);
  return endedViewsOf(db, environmentId, selection, metric.time)
    .select([
      sql<number>`(floor(extract(epoch from ${time}) / ${sql.lit(step)}) * ${sql.lit(step)})::float8`.as('start'),
      aggregateOf(request).as('value'),
      sql<number>`count(${value})::float8`.as('views'),
    ])
    .groupBy(sql`1`)
    .execute();
};

/** The values of several metrics with one default measurement each; all have the same time. */
export const readMetricValues = async (
  db: Queryable,
  environmentId: string,
  metrics: readonly Metric[],
  selection: ViewSelection,
): Promise<OverallValue['value'][]> => {
  const row = await endedViewsOf(db, environmentId, selection, metrics[0]!.time)
    .select(metrics.map((metric) => aggregate(metric, metric.measurement, partsOf(metric)).as(metric.id)))
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
