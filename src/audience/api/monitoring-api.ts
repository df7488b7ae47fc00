import { type TSchema, Type } from 'typebox';
import type { ApiPart } from '../../api/openapi/api-part.js';
import type { Description } from '../../api/openapi/description.js';
import type { Operation } from '../../api/operations.js';
import { monitoringMetrics } from '../calculations/monitoring.js';
import { monitoringDimensions, monitoringOrders } from '../requests/monitoring-requests.js';
import { isoTime, orNull, withTimeframe } from './common.js';

const { Array: List, Enum, Integer, Number: Numeric, Object: Fields, String: Text } = Type;

const share = (description: string) => Numeric({ description: `${description}: 0.5 is 50 %` });
const concurrent = () => Integer({ description: 'Viewers who watched within these five seconds' });
const starting = () => Integer({ description: 'Viewers who waited for their first frame' });
const metricValue = () => orNull(Numeric(), 'Value of the metric; `null` when nothing happened that it is about');
const dimensionValue = () => orNull(Text(), 'Value of the dimension; `null` for views without one');

const Named = Fields(
  {
    name: Text({ description: 'Name in paths and queries' }),
    display_name: Text({ description: 'Name for people to read' }),
  },
  { title: 'MonitoringName', description: 'A metric or dimension of monitoring' },
);

const BreakdownRow = Fields(
  {
    value: dimensionValue(),
    display_value: Text({ description: 'The value for people to read; empty when there is none' }),
    metric_value: metricValue(),
    concurrent_viewers: concurrent(),
    starting_up_viewers: starting(),
    negative_impact: Numeric({ description: 'How much worse than all views it is, times its views' }),
  },
  { title: 'MonitoringBreakdown', description: 'The views with one value of a dimension' },
);

const TimeseriesPoint = Fields(
  { date: isoTime('Start of the five seconds'), value: metricValue(), concurrent_viewers: concurrent() },
  { title: 'MonitoringPoint', description: 'Five seconds of a metric' },
);

const BreakdownPoint = Fields(
  {
    date: isoTime('Start of the five seconds'),
    values: List(
      Fields({
        value: dimensionValue(),
        metric_value: metricValue(),
        concurrent_viewers: concurrent(),
        starting_up_viewers: starting(),
      }),
      { description: 'The first values of the dimension in the order of the request' },
    ),
  },
  { title: 'MonitoringBreakdownPoint', description: 'Five seconds of a metric, for values of a dimension' },
);

const HistogramPoint = Fields(
  {
    timestamp: isoTime('Start of the five seconds'),
    sum: Integer({ description: 'Number of startups' }),
    average: orNull(Numeric(), 'Mean startup time in milliseconds'),
    median: orNull(Numeric(), 'Median startup time in milliseconds'),
    p95: orNull(Numeric(), 'Startup time in milliseconds that 95 % do not exceed'),
    max_percentage: share('The largest share of a bucket'),
    bucket_values: List(
      Fields({
        count: Integer({ description: 'Startups in the bucket' }),
        percentage: share('Share of all startups of these five seconds'),
      }),
      { description: 'In the order of `meta.buckets`' },
    ),
  },
  { title: 'MonitoringHistogram', description: 'Startup times of five seconds' },
);

const histogramMeta = Fields(
  {
    bucket_unit: Text({ description: 'Unit of the bounds: `milliseconds`' }),
    buckets: List(
      Fields({
        start: Integer({ description: 'Smallest startup time of the bucket' }),
        end: orNull(Integer(), 'Startup time at which the next bucket begins; `null` in the last one'),
      }),
      { description: 'The buckets in their order' },
    ),
  },
  {
    description: 'What the values are about',
    examples: [
      {
        bucket_unit: 'milliseconds',
        buckets: [
          { start: 0, end: 100 },
          { start: 100, end: 500 },
          { start: 500, end: null },
        ],
      },
    ],
  },
);

const filters = {
  filters: List(Text(), { description: 'Conditions such as `country:DE` or `!operating_system:iOS`' }),
};
const breakdown = {
  dimension: Enum(Object.keys(monitoringDimensions), { description: 'What views are grouped by. Default: `country`' }),
  ...filters,
  order_by: Enum([...monitoringOrders], { description: 'Default: `negative_impact`. `field` is the value itself' }),
  order_direction: Enum(['asc', 'desc'], { description: 'Default: `desc`, the largest first' }),
};
const timestamp = (description: string) => ({ timestamp: Integer({ description: `${description}, in Unix seconds` }) });
const list = (item: TSchema, description: string) => withTimeframe(List(item, { description }));

interface Documented {
  readonly path: string;
  readonly paramValues?: Operation['paramValues'];
  readonly description: Omit<Description, 'tag'>;
}

const ofMetric = { monitoringMetric: Object.keys(monitoringMetrics) };

/** What is below `/data/v1/monitoring`, and below `/data/v1/realtime`. */
const documented = {
  Metrics: {
    path: '/metrics',
    description: {
      summary: 'List monitoring metrics',
      details: 'Names for the paths of the other operations.',
      response: list(Named, 'All metrics but that of the histogram'),
    },
  },
  Dimensions: {
    path: '/dimensions',
    description: {
      summary: 'List monitoring dimensions',
      details: 'What views can be grouped by.',
      response: list(Named, 'All dimensions of monitoring'),
    },
  },
  Breakdown: {
    path: '/metrics/:monitoringMetric/breakdown',
    paramValues: ofMetric,
    description: {
      summary: 'Break a monitoring metric down',
      details: 'The values of a dimension within five seconds, at most 1,000.',
      query: { ...breakdown, ...timestamp('A time of the last 24 hours. The last complete five seconds when absent') },
      response: list(BreakdownRow, 'The values of the dimension'),
    },
  },
  Timeseries: {
    path: '/metrics/:monitoringMetric/timeseries',
    paramValues: ofMetric,
    description: {
      summary: 'List a monitoring metric over time',
      details: 'Every five seconds of 30 minutes. The last one ended 20 to 25 seconds ago.',
      query: { ...filters, ...timestamp('Start of the 30 minutes, within the last 24 hours') },
      response: list(TimeseriesPoint, 'Every five seconds, the earliest first'),
    },
  },
  HistogramTimeseries: {
    path: '/metrics/:histogramMetric/histogram-timeseries',
    paramValues: { histogramMetric: ['video-startup-time'] },
    description: {
      summary: 'List startup times over time',
      details: 'Every five seconds of the last 30 minutes.',
      query: filters,
      response: withTimeframe(List(HistogramPoint, { description: 'Every five seconds, the earliest first' }), {
        meta: histogramMeta,
      }),
    },
  },
} as const satisfies Record<string, Documented>;

const breakdownTimeseries: Documented = {
  path: '/metrics/:monitoringMetric/breakdown-timeseries',
  paramValues: ofMetric,
  description: {
    summary: 'Break a monitoring metric down over time',
    details: 'The first values of a dimension in every five seconds.',
    query: {
      ...breakdown,
      limit: Integer({ minimum: 1, default: 10, description: 'Number of values of each time. At most 100' }),
      timeframe: List(Text(), {
        maxItems: 2,
        description: 'At most 10 minutes of the last 24 hours: two Unix timestamps, or a duration. Default: 60 seconds',
      }),
    },
    response: list(BreakdownPoint, 'Every five seconds, the earliest first'),
  },
};

const entries = [
  ...Object.entries(documented).map(([name, one]) => [`Monitoring${name}`, 'monitoring', one] as const),
  ['MonitoringBreakdownTimeseries', 'monitoring', breakdownTimeseries] as const,
  ...Object.entries(documented).map(([name, one]) => [`Realtime${name}`, 'realtime', one] as const),
].map(([name, base, one]: readonly [string, string, Documented]) => ({ id: `list${name}`, base, one }));

const read = { method: 'GET', permission: 'data:read', success: 200 } as const;

export const monitoringApi: ApiPart = {
  operations: Object.fromEntries(
    entries.map(({ id, base, one: { path, paramValues } }): [string, Operation] => [
      id,
      { ...read, path: `/data/v1/${base}${path}`, ...(paramValues && { paramValues }) },
    ]),
  ),
  descriptions: Object.fromEntries(
    entries.map(({ id, base, one: { description } }): [string, Description] => [
      id,
      {
        tag: 'Monitoring',
        ...description,
        ...(base === 'realtime' && {
          summary: `${description.summary} (deprecated)`,
          details: `${description.details} The same as the operation below \`/data/v1/monitoring\`.`,
          deprecated: true,
        }),
      },
    ]),
  ),
  pathParameters: { monitoringMetric: 'Name of the metric', histogramMetric: 'Name of the metric' },
  examples: {
    MonitoringName: { name: 'current-concurrent-viewers', display_name: 'Current Concurrent Viewers (CCV)' },
    MonitoringBreakdown: {
      ...{ value: 'DE', display_value: 'DE', metric_value: 0.02, concurrent_viewers: 350 },
      ...{ starting_up_viewers: 4, negative_impact: 3.5 },
    },
    MonitoringPoint: { date: '2026-01-01T08:00:00Z', value: 0.01, concurrent_viewers: 1240 },
    MonitoringBreakdownPoint: {
      date: '2026-01-01T08:00:00Z',
      values: [{ value: 'DE', metric_value: 0.02, concurrent_viewers: 350, starting_up_viewers: 4 }],
    },
    MonitoringHistogram: {
      timestamp: '2026-01-01T08:00:00Z',
      ...{ sum: 4, average: 640, median: 510, p95: 1200, max_percentage: 0.75 },
      bucket_values: [
        { count: 0, percentage: 0 },
        { count: 3, percentage: 0.75 },
        { count: 1, percentage: 0.25 },
      ],
    },
  },
  examplesAfter: {},
};
