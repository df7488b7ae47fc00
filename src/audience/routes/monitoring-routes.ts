import type { DomainContext } from '../../domain/context.js';
import type { ApiRequest, Route } from '../../http/plugins/operation-route.js';
import { isoSeconds } from '../api/common.js';
import {
  type MonitoringMetricId,
  metricValue,
  monitoringMetrics,
  negativeImpact,
  POINT_MS,
  type PointCounts,
  type PointWindow,
  sumCounts,
} from '../calculations/monitoring.js';
import { startupBuckets, startupHistogram } from '../calculations/startup-histogram.js';
import { Monitor, type SeriesByValue } from '../monitor.js';
import {
  type MonitoringBreakdownRequest,
  monitoringDimensions,
  readMonitoringBreakdown,
  readMonitoringBreakdownTimeseries,
  readMonitoringTimeseries,
} from '../requests/monitoring-requests.js';

/** The router only accepts known metrics. */
const metricOf = ({ params }: ApiRequest): MonitoringMetricId => params.monitoringMetric as MonitoringMetricId;

const withWindow = (data: readonly object[], { fromMs, toMs }: PointWindow, more: object = {}): object => ({
  data,
  ...more,
  timeframe: [fromMs / 1000, toMs / 1000],
  total_row_count: data.length,
});

const round = (value: number | null): number | null => (value === null ? null : Math.round(value * 1e6) / 1e6);

interface Row {
  readonly value: string | null;
  readonly counts: PointCounts;
  readonly metric: number | null;
  readonly impact: number;
}

/** Unknown values are last, whatever the direction. */
const compare = (a: number | string | null, b: number | string | null, sign: number): number => {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -sign : sign;
};

/** The values of a dimension at one point that have views there, in the order of the request. */
const rowsAt = (
  id: MonitoringMetricId,
  series: SeriesByValue,
  at: number,
  { orderBy, direction, limit }: MonitoringBreakdownRequest,
): Row[] => {
  const groups = [...series].map(([value, { points }]) => ({ value, counts: points[at]! }));
  const all = sumCounts(groups.map(({ counts }) => counts));
  const keys = {
    negative_impact: ({ impact }: Row) => impact,
    value: ({ metric }: Row) => metric,
    views: ({ counts }: Row) => counts.viewers,
    field: ({ value }: Row) => value,
  };
  const [keyOf, sign] = [keys[orderBy], direction === 'asc' ? 1 : -1];
  return groups
    .filter(({ counts }) => Object.values(counts).some((count) => count > 0))
    .map(({ value, counts }) => ({
      ...{ value, counts, metric: metricValue(id, counts), impact: negativeImpact(id, counts, all) },
    }))
    .sort(
      (a, b) =>
        compare(keyOf(a), keyOf(b), sign) || b.counts.viewers - a.counts.viewers || compare(a.value, b.value, 1),
    )
    .slice(0, limit);
};

const countsOf = ({ value, counts, metric }: Row): object => ({
  value,
  metric_value: round(metric),
  concurrent_viewers: counts.viewers,
  starting_up_viewers: counts.starting,
});

const named = (names: Readonly<Record<string, string>>): object[] =>
  Object.entries(names).map(([name, displayName]) => ({ name, display_name: displayName }));
const metricNames = Object.fromEntries(
  Object.entries(monitoringMetrics).map(([name, { displayName }]) => [name, displayName]),
);

/** Monitoring, and the deprecated operations of the same meaning. */
export const monitoringRoutes = (route: Route<string>, { database, clock }: DomainContext): void => {
  const monitor = new Monitor({ database, clock });
  const lastMinutes = (): PointWindow => readMonitoringTimeseries({}, clock.now()).window;

  const breakdown = async (request: ApiRequest) => {
    const asked = readMonitoringBreakdown(request.query, clock.now());
    const series = await monitor.series({ environmentId: request.caller.environment.id, ...asked });
    const rows = rowsAt(metricOf(request), series, 0, asked);
    const data = rows.map((row) => ({
      ...countsOf(row),
      display_value: row.value ?? '',
      negative_impact: round(row.impact),
    }));
    return withWindow(data, asked.window);
  };

  const timeseries = async (request: ApiRequest) => {
    const asked = readMonitoringTimeseries(request.query, clock.now());
    const series = await monitor.series({ environmentId: request.caller.environment.id, ...asked });
    const none = sumCounts([]);
    const data = datesOf(asked.window).map((date, at) => {
      const counts = series.get(null)?.points[at] ?? none;
      return { date, value: round(metricValue(metricOf(request), counts)), concurrent_viewers: counts.viewers };
    });
    return withWindow(data, asked.window);
  };

  const breakdownTimeseries = async (request: ApiRequest) => {
    const asked = readMonitoringBreakdownTimeseries(request.query, clock.now());
    const series = await monitor.series({ environmentId: request.caller.environment.id, ...asked });
    const data = datesOf(asked.window).map((date, at) => ({
      date,
      values: rowsAt(metricOf(request), series, at, asked).map(countsOf),
    }));
    return withWindow(data, asked.window);
  };

  const histogramTimeseries = async ({ caller, query }: ApiRequest) => {
    const asked = readMonitoringTimeseries({ ...query, timestamp: undefined }, clock.now());
    const series = await monitor.series({ environmentId: caller.environment.id, ...asked });
    const data = datesOf(asked.window).map((timestamp, at) => ({
      timestamp,
      ...startupHistogram(series.get(null)?.startupTimes[at] ?? []),
    }));
    return withWindow(data, asked.window, { meta: { bucket_unit: 'milliseconds', buckets: startupBuckets } });
  };

  for (const prefix of ['listMonitoring', 'listRealtime']) {
    route(`${prefix}Metrics`, async () => withWindow(named(metricNames), lastMinutes()));
    route(`${prefix}Dimensions`, async () => withWindow(named(monitoringDimensions), lastMinutes()));
    route(`${prefix}Breakdown`, breakdown);
    route(`${prefix}Timeseries`, timeseries);
    route(`${prefix}HistogramTimeseries`, histogramTimeseries);
  }
  route('listMonitoringBreakdownTimeseries', breakdownTimeseries);
};

const datesOf = ({ fromMs, toMs }: PointWindow): string[] =>
  Array.from({ length: Math.max((toMs - fromMs) / POINT_MS, 0) }, (_, at) => isoSeconds(fromMs + at * POINT_MS));
