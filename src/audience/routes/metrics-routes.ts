import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../../http/plugins/operation-route.js';
import {
  serializeBreakdown,
  serializeComparison,
  serializeDimensionValue,
  serializeError,
  serializeInsight,
  serializeMeta,
  serializeOverall,
  serializeTimeseries,
} from '../api/metrics-responses.js';
import { compareMetrics } from '../compare-metrics.js';
import { type AnyDimension, advancedDimensions, basicDimensions, type TraceDimension } from '../dimensions.js';
import type { MetricId } from '../metrics.js';
import { stepOf } from '../requests/granularity.js';
import {
  type ErrorsRequest,
  readBreakdownRequest,
  readComparisonRequest,
  readElementsRequest,
  readErrorsRequest,
  readInsightsRequest,
  readOverallRequest,
  readTimeseriesRequest,
  readValuesRequest,
} from '../requests/metric-requests.js';
import { lastDay } from '../requests/timeframe.js';
import { listDimensionValues, listErrors, listTraceElements } from '../tables/dimension-values.js';
import { readBreakdown, readInsights, readIntervals, readOverallValue } from '../tables/metric-values.js';

const position = ({ page, selection }: Pick<ErrorsRequest, 'page' | 'selection'>, total: number) => ({
  ...{ total_row_count: total, page: page.page, limit: page.limit, timeframe: selection.timeframe },
});

/** Metrics, dimensions and errors of views that have ended. */
export const metricsRoutes = (route: Route<string>, context: DomainContext): void => {
  const { database, clock } = context;
  const db = database.queryable;

  route('listMetricComparison', async ({ caller, query }) => {
    const selection = readComparisonRequest(query, clock.now());
    const { started, ended, values } = await compareMetrics(db, caller.environment.id, selection);
    const data = serializeComparison(started, ended, values);
    return { data, total_row_count: data.length, timeframe: selection.timeframe };
  });

  route('listMetricBreakdown', async ({ caller, params, query }) => {
    const request = readBreakdownRequest(params.metricId as MetricId, query, clock.now());
    const { values, total } = await readBreakdown(db, caller.environment.id, request);
    return {
      data: values.map(serializeBreakdown),
      meta: serializeMeta(request.metric),
      ...position(request, total),
    };
  });

  route('getMetricOverall', async ({ caller, params, query }) => {
    const request = readOverallRequest(params.metricId as MetricId, query, clock.now());
    return {
      data: serializeOverall(await readOverallValue(db, caller.environment.id, request)),
      meta: serializeMeta(request.metric),
      total_row_count: null,
      timeframe: request.selection.timeframe,
    };
  });

  route('listMetricInsights', async ({ caller, params, query }) => {
    const request = readInsightsRequest(params.metricId as MetricId, query, clock.now());
    const data = (await readInsights(db, caller.environment.id, request)).map(serializeInsight);
    return {
      ...{ data, meta: serializeMeta(request.metric), total_row_count: data.length },
      timeframe: request.selection.timeframe,
    };
  });

  route('getMetricTimeseries', async ({ caller, params, query }) => {
    const request = readTimeseriesRequest(params.metricId as MetricId, query, clock.now());
    const values = await readIntervals(db, caller.environment.id, request, stepOf(request.granularity));
    const data = serializeTimeseries(request, values);
    return {
      ...{ data, meta: serializeMeta(request.metric, request.granularity), total_row_count: data.length },
      timeframe: request.selection.timeframe,
    };
  });

  route('listDimensions', async () => ({
    data: { basic: basicDimensions, advanced: advancedDimensions },
    total_row_count: null,
    timeframe: lastDay(clock.now()),
  }));

  route('listDimensionValues', async ({ caller, params, query }) => {
    const request = readValuesRequest(params.dimensionId as AnyDimension, query, clock.now());
    const { values, total } = await listDimensionValues(db, caller.environment.id, request);
    const data = values.map(serializeDimensionValue);
    return { data, ...position(request, total) };
  });

  route('listTraceElements', async ({ caller, params, query }) => {
    const request = readElementsRequest(params.traceDimensionId as TraceDimension, query, clock.now());
    const { values, total } = await listTraceElements(db, caller.environment.id, request);
    const data = values.map(serializeDimensionValue);
    return { data, ...position(request, total) };
  });

  route('listErrors', async ({ caller, query }) => {
    const request = readErrorsRequest(query, clock.now());
    const { errors, total, views } = await listErrors(db, caller.environment.id, request);
    const data = errors.map((error) => serializeError(error, views));
    return { data, ...position(request, total) };
  });
};
