import { Type } from 'typebox';
import { listWithTimeframe } from '../../api/schemas/response.js';
import { metricGroups } from '../comparison.js';
import { type Metric, type MetricId, metrics } from '../metrics.js';
import { intervalStarts } from '../requests/granularity.js';
import type { TimeseriesRequest } from '../requests/metric-requests.js';
import type { CountedError, DimensionValue } from '../tables/dimension-values.js';
import type {
  BreakdownValue,
  ComparisonTotals,
  Insight,
  IntervalValue,
  OverallValue,
} from '../tables/metric-values.js';
import { isoSeconds, isoTime, orNull, withTimeframe } from './common.js';

const { Optional, Array: List, Object: Fields, Number: Numeric, Integer, String: Text, Null, Union } = Type;

const meta = () =>
  Fields(
    {
      aggregation: Text({
        description: 'The time by which views belong to the time frame: `view_start` or `view_end`',
      }),
      granularity: Optional(Text({ description: 'The length of an interval. Present for time series' })),
    },
    { description: 'How the values were calculated', examples: [{ aggregation: 'view_end' }] },
  );
const watched = {
  total_watch_time: orNull(Integer(), 'Milliseconds of watching, including waiting; `null` when no view reports them'),
  total_playing_time: orNull(Integer(), 'Milliseconds of playing video; `null` when no view reports them'),
};

const MetricItem = Fields(
  {
    name: Text({ description: 'Name of the metric for people' }),
    metric: Text({ description: 'ID of the metric' }),
    type: Text({ description: 'Unit: `milliseconds`, `percentage` (1 is all), `score`, `number`, `bits_per_second`' }),
    measurement: Text({ description: 'How the values of views are combined: the default of the metric' }),
    value: orNull(Numeric(), 'The value; `null` when no view has one'),
  },
  { title: 'MetricValue', description: 'The value of one metric' },
);

const MetricGroup = Fields(
  {
    name: Text({ description: '`totals`, or the name of a group of metrics' }),
    view_count: Optional(Integer({ description: 'Views that ended. Only in `totals`, as those that follow' })),
    started_views: Optional(Integer({ description: 'Views that started in the time frame and have ended' })),
    ended_views: Optional(Integer({ description: 'Views that ended in the time frame' })),
    unique_viewers: Optional(Integer({ description: 'Different viewers of the views that started' })),
    watch_time: Optional(orNull(Integer(), 'Milliseconds of watching in the views that ended')),
    total_playing_time: Optional(orNull(Integer(), 'Milliseconds of playing in the views that started')),
    metric: Optional(Text({ description: 'ID of the score of the group. Absent without one' })),
    type: Optional(Text({ description: 'The unit of the score, `score`' })),
    value: Optional(Numeric({ description: 'The score, from 0 to 100. Absent when no view has one' })),
    items: Optional(List(MetricItem, { description: 'The metrics of the group' })),
  },
  { title: 'MetricGroup', description: 'Totals, or a group of metrics with their score' },
);

export const ComparisonResponse = withTimeframe(List(MetricGroup, { description: 'Totals and all metrics' }));

export const OverallResponse = withTimeframe(
  Fields(
    {
      value: orNull(Numeric(), 'The value of the metric; `null` when no view has one'),
      total_views: Integer({ description: 'Number of views' }),
      ...watched,
    },
    { title: 'OverallValue', description: 'The value of a metric in all views' },
  ),
  { meta: meta() },
);

export const BreakdownResponse = Fields({
  ...listWithTimeframe(
    Fields(
      {
        field: orNull(Text(), 'Value of the dimension; `null` for views without one'),
        value: Numeric({ description: 'The value of the metric' }),
        views: Integer({ description: 'Number of views' }),
        ...watched,
        negative_impact: Numeric({
          description:
            'How much worse the value is than the value of all views, times the number of views. Negative when it is better',
        }),
      },
      { title: 'BreakdownValue', description: 'The value of a metric for one value of a dimension' },
    ),
  ).properties,
  meta: meta(),
});

export const InsightsResponse = withTimeframe(
  List(
    Fields(
      {
        filter_column: Text({ description: 'Name of the dimension' }),
        filter_value: Text({ description: 'Value of the dimension' }),
        metric: Numeric({ description: 'The value of the metric in views with it' }),
        total_views: Integer({ description: 'Number of views' }),
        ...watched,
        negative_impact_score: Numeric({
          description: 'How much worse the value is than the value of all views, times the number of views',
        }),
      },
      { title: 'Insight', description: 'A value of a dimension that worsens a metric' },
    ),
    { description: 'At most 25 values' },
  ),
  { meta: meta() },
);

export const TimeseriesResponse = withTimeframe(
  List(
    List(Union([Text(), Numeric(), Null()]), {
      title: 'MetricInterval',
      minItems: 3,
      maxItems: 3,
      description: 'Start of the interval in UTC, value of the metric or `null`, number of views that have a value',
    }),
    { description: 'All intervals that overlap the time frame' },
  ),
  { meta: meta() },
);

export const DimensionsResponse = withTimeframe(
  Fields(
    {
      basic: List(Text(), { description: 'Dimensions that most reports use' }),
      advanced: List(Text(), { description: 'All other dimensions' }),
    },
    { title: 'Dimensions', description: 'What views can be filtered and grouped by' },
  ),
);

export const DimensionValuesResponse = listWithTimeframe(
  Fields(
    {
      value: orNull(Text(), 'The value; `null` for views without one'),
      total_count: Integer({ description: 'Number of views with it' }),
    },
    { title: 'DimensionValue', description: 'A value of a dimension' },
  ),
);

export const ErrorsResponse = listWithTimeframe(
  Fields(
    {
      id: Integer({ description: 'ID of the error' }),
      code: orNull(Integer(), 'The code when it is an integer, otherwise `null`'),
      player_error_code: orNull(Text(), 'The code as the player names it'),
      message: orNull(Text(), 'The message of the player'),
      description: orNull(Text(), 'Nothing is described: always `null`'),
      notes: orNull(Text(), 'Nobody adds notes: always `null`'),
      count: Integer({ description: 'Number of views that ended with the error' }),
      percentage: Numeric({ description: 'Their share of all views: 1 is all' }),
      last_seen: isoTime('When the error was reported last'),
    },
    { title: 'PlaybackError', description: 'An error that views ended with' },
  ),
);

export const serializeMeta = ({ time }: Metric, granularity?: string) => ({
  aggregation: time === 'started_at' ? 'view_start' : 'view_end',
  ...(granularity !== undefined && { granularity }),
});

export const serializeOverall = ({ value, views, watchTime, playingTime }: OverallValue) => ({
  ...{ value, total_views: views, total_watch_time: watchTime, total_playing_time: playingTime },
});

export const serializeBreakdown = ({
  field,
  value,
  views,
  watchTime,
  playingTime,
  negativeImpact,
}: BreakdownValue) => ({
  ...{ field, value, views, total_watch_time: watchTime, total_playing_time: playingTime },
  negative_impact: negativeImpact,
});

export const serializeInsight = (insight: Insight) => ({
  filter_column: insight.dimension,
  filter_value: insight.field,
  metric: insight.value,
  total_views: insight.views,
  total_watch_time: insight.watchTime,
  total_playing_time: insight.playingTime,
  negative_impact_score: insight.negativeImpact,
});

/** Adds the intervals without views: their counts and sums are 0, other values unknown. */
export const serializeTimeseries = (
  { selection, granularity, direction, measurement }: TimeseriesRequest,
  values: readonly IntervalValue[],
) => {
  const byStart = new Map(values.map((value) => [value.start, value]));
  const empty = measurement === 'count' || measurement === 'sum' ? 0 : null;
  const rows = intervalStarts(selection.timeframe, granularity).map((start) => {
    const { value, views } = byStart.get(start) ?? { value: empty, views: 0 };
    return [isoSeconds(start * 1000), value, views];
  });
  return direction === 'asc' ? rows : rows.reverse();
};

/** @param started views that started in the time frame, `ended` those that ended in it */
export const serializeComparison = (
  started: ComparisonTotals,
  ended: ComparisonTotals,
  values: ReadonlyMap<MetricId, number | null>,
) => [
  {
    name: 'totals',
    view_count: ended.views,
    started_views: started.views,
    ended_views: ended.views,
    unique_viewers: started.viewers,
    watch_time: ended.watchTime,
    total_playing_time: started.playingTime,
  },
  ...metricGroups.map(({ name, score, items }) => {
    const value = score && values.get(score);
    return {
      name,
      ...(score && { metric: score, type: metrics[score].unit }),
      ...(typeof value === 'number' && { value }),
      items: items.map((id) => {
        const { name: title, unit, measurement } = metrics[id];
        return { name: title, metric: id, type: unit, measurement, value: values.get(id) ?? null };
      }),
    };
  }),
];

export const serializeDimensionValue = ({ value, count }: DimensionValue) => ({ value, total_count: count });

export const serializeError = ({ id, code, message, lastSeenAt, count }: CountedError, views: number) => ({
  id,
  code: /^-?\d{1,15}$/.test(code) ? Number(code) : null,
  player_error_code: code === '' ? null : code,
  message: message === '' ? null : message,
  description: null,
  notes: null,
  count,
  percentage: count / views,
  last_seen: isoSeconds(lastSeenAt),
});
