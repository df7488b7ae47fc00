import { readPage } from '../../api/validate/list-query.js';
import type { PageQuery } from '../../domain/requests/list-query.js';
import { invalidParameters } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';
import { type AnyDimension, isDimension, type TraceDimension } from '../dimensions.js';
import { type Measurement, type Metric, type MetricId, measurementsOf, metrics } from '../metrics.js';
import { type Granularity, granularities, granularityOf, intervalCount, MAX_INTERVALS } from './granularity.js';
import { type Direction, type Query, readChoice, readDirection } from './query-values.js';
import { readViewSelection, type ViewSelection } from './view-selection.js';

/** A metric, measured in one way. */
export interface MetricRequest {
  readonly metric: Metric;
  readonly measurement: Measurement;
  readonly selection: ViewSelection;
}

/** Reads what all requests about one metric have; the caller throws the problems. */
const readMetric = (id: MetricId, query: Query, now: Date, problems: Problems): MetricRequest => {
  const metric = metrics[id];
  const chosen = readChoice(query, 'measurement', measurementsOf(metric), problems);
  return { metric, measurement: chosen ?? metric.measurement, selection: readViewSelection(query, now, problems) };
};

/** @throws KinoraError `invalid_parameters` */
export const readOverallRequest = (id: MetricId, query: Query, now: Date): MetricRequest => {
  const problems = new Problems();
  const request = readMetric(id, query, now, problems);
  problems.throwIfAny(query);
  return request;
};

export const breakdownOrders = ['negative_impact', 'value', 'views', 'field'] as const;
export type BreakdownOrder = (typeof breakdownOrders)[number];

export interface BreakdownRequest extends MetricRequest {
  readonly dimension: AnyDimension;
  readonly orderBy: BreakdownOrder;
  readonly direction: Direction;
  readonly page: PageQuery;
}

/** Names from A, numbers from the largest. */
const usualDirection = (orderBy: string): Direction => (orderBy === 'field' ? 'asc' : 'desc');

const readDimension = (query: Query, name: string, problems: Problems): AnyDimension | undefined => {
  const text = lastOf(query[name]);
  if (text === undefined || text === '') return undefined;
  if (isDimension(text)) return text;
  problems.addSentence([name], `${name} is the unknown dimension ${text}`);
  return undefined;
};

/**
 * By country and with the most views first when the query says nothing.
 * @throws KinoraError `invalid_parameters`
 */
export const readBreakdownRequest = (id: MetricId, query: Query, now: Date): BreakdownRequest => {
  const problems = new Problems();
  const request = readMetric(id, query, now, problems);
  const dimension = readDimension(query, 'group_by', problems) ?? 'country';
  const orderBy = readChoice(query, 'order_by', breakdownOrders, problems) ?? 'views';
  const direction = readDirection(query, problems) ?? usualDirection(orderBy);
  const page = readPage(query, problems);
  problems.throwIfAny(query);
  return { ...request, dimension, orderBy, direction, page };
};

export interface InsightsRequest extends MetricRequest {
  readonly direction: Direction;
}

/** @throws KinoraError `invalid_parameters` */
export const readInsightsRequest = (id: MetricId, query: Query, now: Date): InsightsRequest => {
  const problems = new Problems();
  const request = readMetric(id, query, now, problems);
  const direction = readDirection(query, problems) ?? 'desc';
  problems.throwIfAny(query);
  return { ...request, direction };
};

export interface TimeseriesRequest extends MetricRequest {
  readonly granularity: Granularity;
  readonly direction: Direction;
}

/** @throws KinoraError `invalid_parameters`, also for too many intervals */
export const readTimeseriesRequest = (id: MetricId, query: Query, now: Date): TimeseriesRequest => {
  const problems = new Problems();
  const request = readMetric(id, query, now, problems);
  const { timeframe } = request.selection;
  const granularity = readChoice(query, 'group_by', granularities, problems) ?? granularityOf(timeframe);
  const direction = readDirection(query, problems) ?? 'asc';
  problems.throwIfAny(query);
  if (intervalCount(timeframe, granularity) > MAX_INTERVALS) {
    throw invalidParameters(`timeframe has more than ${MAX_INTERVALS} intervals of group_by ${granularity}`);
  }
  return { ...request, granularity, direction };
};

/**
 * Which views are compared: also those with one value of a dimension.
 * @throws KinoraError `invalid_parameters`
 */
export const readComparisonRequest = (query: Query, now: Date): ViewSelection => {
  const problems = new Problems();
  const selection = readViewSelection(query, now, problems);
  const dimension = readDimension(query, 'dimension', problems);
  const value = lastOf(query.value);
  const namesDimension = query.dimension !== undefined;
  if (namesDimension && value === undefined) problems.addSentence(['value'], 'value is required with dimension');
  if (!namesDimension && value !== undefined) problems.addSentence(['value'], 'dimension is required with value');
  problems.throwIfAny(query);
  if (!dimension || value === undefined) return selection;
  const filter = { kind: 'is', dimension, value: value === '' ? null : value } as const;
  return { ...selection, filters: [...selection.filters, filter] };
};

export interface ValuesRequest<Of extends AnyDimension = AnyDimension> {
  readonly dimension: Of;
  readonly selection: ViewSelection;
  readonly orderBy: 'views' | 'field';
  readonly direction: Direction;
  readonly page: PageQuery;
}

/** The values of a dimension, the most frequent first. @throws KinoraError `invalid_parameters` */
export const readValuesRequest = (dimension: AnyDimension, query: Query, now: Date): ValuesRequest => {
  const problems = new Problems();
  const selection = readViewSelection(query, now, problems);
  const page = readPage(query, problems);
  problems.throwIfAny(query);
  return { dimension, selection, orderBy: 'views', direction: 'desc', page };
};

/** The elements of a trace dimension. @throws KinoraError `invalid_parameters` */
export const readElementsRequest = (
  dimension: TraceDimension,
  query: Query,
  now: Date,
): ValuesRequest<TraceDimension> => {
  const problems = new Problems();
  const selection = readViewSelection(query, now, problems);
  // An element has neither a metric nor an impact: its value and its views are its count.
  const order = readChoice(query, 'order_by', breakdownOrders, problems) ?? 'views';
  const orderBy = order === 'field' ? 'field' : 'views';
  const direction = readDirection(query, problems) ?? usualDirection(orderBy);
  const page = readPage(query, problems);
  problems.throwIfAny(query);
  return { dimension, selection, orderBy, direction, page };
};

export interface ErrorsRequest {
  readonly selection: ViewSelection;
  readonly page: PageQuery;
}

/** @throws KinoraError `invalid_parameters` */
export const readErrorsRequest = (query: Query, now: Date): ErrorsRequest => {
  const problems = new Problems();
  const selection = readViewSelection(query, now, problems);
  const page = readPage(query, problems, { default: 100, max: 100 });
  problems.throwIfAny(query);
  return { selection, page };
};
