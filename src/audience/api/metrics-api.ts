import { Type } from 'typebox';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { type Description, paging, timeframe } from '../../api/openapi/description.js';
import type { Operation } from '../../api/operations.js';
import { allDimensions, traceDimensions } from '../dimensions.js';
import { measurements, metricIds } from '../metrics.js';
import { granularities } from '../requests/granularity.js';
import { breakdownOrders } from '../requests/metric-requests.js';
import { metricsExamples } from './metrics-examples.js';
import {
  BreakdownResponse,
  ComparisonResponse,
  DimensionsResponse,
  DimensionValuesResponse,
  ErrorsResponse,
  InsightsResponse,
  OverallResponse,
  TimeseriesResponse,
} from './metrics-responses.js';

const read = { method: 'GET', permission: 'data:read', success: 200 } as const;
const ofMetric = { ...read, paramValues: { metricId: metricIds } } as const;

const operations = {
  listMetricComparison: { ...read, path: '/data/v1/metrics/comparison' },
  listMetricBreakdown: { ...ofMetric, path: '/data/v1/metrics/:metricId/breakdown' },
  getMetricOverall: { ...ofMetric, path: '/data/v1/metrics/:metricId/overall' },
  listMetricInsights: { ...ofMetric, path: '/data/v1/metrics/:metricId/insights' },
  getMetricTimeseries: { ...ofMetric, path: '/data/v1/metrics/:metricId/timeseries' },
  listDimensions: { ...read, path: '/data/v1/dimensions' },
  listDimensionValues: {
    ...read,
    path: '/data/v1/dimensions/:dimensionId',
    paramValues: { dimensionId: allDimensions },
  },
  listTraceElements: {
    ...read,
    path: '/data/v1/dimensions/:traceDimensionId/elements',
    paramValues: { traceDimensionId: traceDimensions },
  },
  listErrors: { ...read, path: '/data/v1/errors' },
} as const satisfies Record<string, Operation>;

/** Which views are meant. */
export const viewSelection = () => ({
  ...timeframe('Start and end in Unix seconds, or one duration such as `24:hours` or `7:days`; by default `24:hours`'),
  filters: Type.Array(Type.String(), {
    description:
      'Only views with these values: `country:US`, `!country:US` without it; for traces `+video_cdn_trace:a` and `-video_cdn_trace:a` for an element, `video_cdn_trace:[a,b]` for all elements',
  }),
  metric_filters: Type.Array(Type.String(), {
    description: 'Only views with these values of metrics: `video_startup_time>=1000`. Operators: `>=`, `<=`, `>`, `<`',
  }),
});

const measurement = () =>
  Type.Enum([...measurements], {
    description: 'How the values of views are combined. By default as suits the metric',
  });
const direction = (description: string) => Type.Enum(['asc', 'desc'], { description });
const orders = (description: string) => Type.Enum([...breakdownOrders], { description });

const tag = { tag: 'Metrics' } as const;

const descriptions = {
  listMetricComparison: {
    ...tag,
    summary: 'List all metrics',
    details: 'Of all views, or of those with one value of a dimension.',
    query: {
      ...viewSelection(),
      dimension: Type.String({ description: 'A dimension. Requires `value`' }),
      value: Type.String({ description: 'Value of the dimension; empty for views without one' }),
    },
    response: ComparisonResponse,
  },
  listMetricBreakdown: {
    ...tag,
    summary: 'Break a metric down by a dimension',
    details: 'Lists the values of the dimension for which the metric has a value.',
    query: {
      ...viewSelection(),
      ...paging(),
      group_by: Type.String({ default: 'country', description: 'Name of the dimension' }),
      measurement: measurement(),
      order_by: orders('What to sort by. By default `views`'),
      order_direction: direction('By default `desc`; `asc` with `order_by=field`'),
    },
    response: BreakdownResponse,
  },
  getMetricOverall: {
    ...tag,
    summary: 'Retrieve the value of a metric',
    details: 'One value for all selected views.',
    query: { ...viewSelection(), measurement: measurement() },
    response: OverallResponse,
  },
  listMetricInsights: {
    ...tag,
    summary: 'List what worsens a metric',
    details: 'The values of all dimensions that worsen the metric most. Empty for counts and sums.',
    query: {
      ...viewSelection(),
      measurement: measurement(),
      order_direction: direction('`desc`, the default: the worst first'),
    },
    response: InsightsResponse,
  },
  getMetricTimeseries: {
    ...tag,
    summary: 'List the values of a metric over time',
    details: 'Intervals begin at whole minutes, hours and days in UTC.',
    query: {
      ...viewSelection(),
      group_by: Type.Enum([...granularities], {
        description:
          'Length of an interval. By default `minute` below 90 minutes, `ten_minutes` below 6 hours, `hour` up to 15 days, `day` beyond',
      }),
      measurement: measurement(),
      order_direction: direction('By default `asc`: the earliest first'),
    },
    response: TimeseriesResponse,
  },
  listDimensions: {
    ...tag,
    summary: 'List dimensions',
    details: 'What views can be filtered and grouped by.',
    response: DimensionsResponse,
  },
  listDimensionValues: {
    ...tag,
    summary: 'List the values of a dimension',
    details: 'The most frequent first.',
    query: { ...viewSelection(), ...paging() },
    response: DimensionValuesResponse,
  },
  listTraceElements: {
    ...tag,
    summary: 'List the elements of a trace dimension',
    details: 'By default the most frequent first. A view counts once for each of its elements.',
    query: {
      ...viewSelection(),
      ...paging(),
      order_by: orders('What to sort by: `field`, or anything else for the number of views'),
      order_direction: direction('By default `desc`; `asc` with `order_by=field`'),
    },
    response: DimensionValuesResponse,
  },
  listErrors: {
    ...tag,
    summary: 'List playback errors',
    details: 'Errors that views ended with, the most frequent first.',
    query: { ...viewSelection(), ...paging({ default: 100, max: 100 }) },
    response: ErrorsResponse,
  },
} as const satisfies Record<keyof typeof operations, Description>;

export const metricsApi: ApiPart = {
  operations,
  descriptions,
  pathParameters: {
    metricId: 'ID of the metric, such as `video_startup_time`',
    dimensionId: 'Name of the dimension, such as `country`',
    traceDimensionId: 'Name of a dimension that has several values in an order',
  },
  examples: metricsExamples,
  examplesAfter: {},
};
