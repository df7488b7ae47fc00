import { type RawBuilder, sql } from 'kysely';
import type { Measurement, Metric } from '../metrics.js';
import { metricValue, quotientParts } from './view-values.js';

/**
 * The value of a metric for a group of views. When none of them has one: 0 for counts and sums,
 * otherwise null.
 */
export const aggregate = ({ id, source }: Metric, measurement: Measurement): RawBuilder<number | null> => {
  if (source === 'views') return sql`count(*)::float8`;
  if (source === 'viewers') return sql`count(distinct video_view.viewer_id)::float8`;
  const value = metricValue(id);
  switch (measurement) {
    case 'median':
      return sql`percentile_cont(0.5) within group (order by ${value})`;
    case '95th':
      return sql`percentile_cont(0.95) within group (order by ${value})`;
    case 'count':
      return sql`count(${value})::float8`;
    case 'sum':
      return sql`coalesce(sum(${value}), 0)::float8`;
    case 'avg': {
      if (!('quotient' in source)) return sql`avg(${value})::float8`;
      const { part, whole } = quotientParts(source.quotient, source.factor);
      return sql`(sum(${part}) / nullif(sum(${whole}), 0))`;
    }
  }
};

/** How many views, and for how long they were watched, in milliseconds; null when no view says. */
export const viewTotals = {
  views: sql<number>`count(*)::float8`,
  watchTime: sql<number | null>`sum(video_view.watch_time)::float8`,
  playingTime: sql<number | null>`sum(video_view.playing_time)::float8`,
};

/**
 * How much worse a group is than all views, times its views. Counts and sums of a part say nothing
 * about that.
 */
export const negativeImpact = (
  { better }: Metric,
  measurement: Measurement,
  of: { value: RawBuilder<number>; overall: RawBuilder<number | null>; views: RawBuilder<number> },
): RawBuilder<number> => {
  if (measurement === 'count' || measurement === 'sum') return sql`0::float8`;
  const difference = better === 'lower' ? sql`${of.value} - ${of.overall}` : sql`${of.overall} - ${of.value}`;
  return sql`((${difference}) * ${of.views})`;
};
