import { readPositive } from '../../api/validate/list-query.js';
import { readTimeframe } from '../../api/validate/timeframe.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';
import { POINT_MS, type PointWindow } from '../calculations/monitoring.js';
import type { Dimension } from '../dimensions.js';
import { readFilters, type ViewFilter } from './filters.js';
import { type Direction, type Query, readChoice, readDirection } from './query-values.js';
import { readViewTimeframe } from './timeframe.js';

/** What monitoring is broken down by, and their names for people. */
export const monitoringDimensions = {
  asn: 'ASN',
  cdn: 'CDN',
  country: 'Country',
  operating_system: 'Operating System',
  player_name: 'Player Name',
  region: 'Region / State',
  stream_type: 'Stream Type',
  sub_property_id: 'Sub Property ID',
  video_series: 'Video Series',
  video_title: 'Video Title',
  view_has_ad: 'Ad',
} as const satisfies Partial<Record<Dimension, string>>;
export type MonitoringDimension = keyof typeof monitoringDimensions;

export const monitoringOrders = ['negative_impact', 'value', 'views', 'field'] as const;

/** Which views are counted, and when. */
export interface MonitoringRequest {
  readonly window: PointWindow;
  readonly filters: readonly ViewFilter[];
}

/** What is listed of a dimension's values. */
export interface MonitoringBreakdownRequest extends MonitoringRequest {
  readonly dimension: MonitoringDimension;
  readonly orderBy: (typeof monitoringOrders)[number];
  readonly direction: Direction;
  readonly limit: number;
}

/**
 * Players report every ten seconds, and servers write what they were told every ten: later points
 * would miss failures and starts.
 */
const DELAY_MS = 20_000;
const MINUTE_MS = 60_000;
const SPAN_MS = 30 * MINUTE_MS;
const MAX_AGE_MS = 24 * 60 * MINUTE_MS;
const MAX_BREAKDOWN_MS = 10 * MINUTE_MS;
/** All values of a dimension at one time. */
const MAX_VALUES = 1000;

const floor = (ms: number): number => Math.floor(ms / POINT_MS) * POINT_MS;
/** The end of the last point that is complete. */
const endOfData = (now: Date): number => floor(now.getTime() - DELAY_MS);

/** The `timestamp` of a query in milliseconds. */
const readTimestamp = (query: Query, now: Date, problems: Problems): number | undefined => {
  const text = lastOf(query.timestamp);
  if (text === undefined || text === '') return undefined;
  const ms = /^\d{1,12}$/.test(text) ? Number(text) * 1000 : Number.NaN;
  if (Number.isNaN(ms)) problems.add(['timestamp'], 'must be a Unix timestamp');
  else if (ms > now.getTime() || ms < now.getTime() - MAX_AGE_MS)
    problems.add(['timestamp'], 'must be within the last 24 hours');
  return ms;
};

const readBreakdown = (query: Query, problems: Problems) => ({
  filters: readFilters(query, problems),
  dimension:
    readChoice(query, 'dimension', Object.keys(monitoringDimensions) as MonitoringDimension[], problems) ?? 'country',
  orderBy: readChoice(query, 'order_by', monitoringOrders, problems) ?? 'negative_impact',
  direction: readDirection(query, problems) ?? 'desc',
});

/**
 * The point that `timestamp` is in; the last one that is complete when it is absent or later.
 * @throws KinoraError `invalid_parameters`
 */
export const readMonitoringBreakdown = (query: Query, now: Date): MonitoringBreakdownRequest => {
  const problems = new Problems();
  const last = endOfData(now) - POINT_MS;
  const fromMs = Math.min(floor(readTimestamp(query, now, problems) ?? last), last);
  const breakdown = readBreakdown(query, problems);
  problems.throwIfAny(query);
  return { ...breakdown, window: { fromMs, toMs: fromMs + POINT_MS }, limit: MAX_VALUES };
};

/**
 * The last 30 minutes, or those from `timestamp` on.
 * @throws KinoraError `invalid_parameters`
 */
export const readMonitoringTimeseries = (query: Query, now: Date): MonitoringRequest => {
  const problems = new Problems();
  const end = endOfData(now);
  const fromMs = floor(readTimestamp(query, now, problems) ?? end - SPAN_MS);
  const filters = readFilters(query, problems);
  problems.throwIfAny(query);
  return { filters, window: { fromMs, toMs: Math.max(Math.min(fromMs + SPAN_MS, end), fromMs) } };
};

/**
 * The last minute, or `timeframe[]`.
 * @throws KinoraError `invalid_parameters`
 */
export const readMonitoringBreakdownTimeseries = (query: Query, now: Date): MonitoringBreakdownRequest => {
  const problems = new Problems();
  const limit = Math.min(readPositive(query, 'limit', 10, problems), 100);
  const breakdown = readBreakdown(query, problems);
  const end = endOfData(now);
  const { values, path } = readTimeframe(query);
  let window = { fromMs: end - MINUTE_MS, toMs: end };
  if (values.some((value) => value !== '')) {
    const [from, to] = readViewTimeframe(query, now, problems);
    problems.throwIfAny(query);
    window = { fromMs: floor(from * 1000), toMs: Math.min(floor(to * 1000 + POINT_MS - 1), end) };
    if ((to - from) * 1000 > MAX_BREAKDOWN_MS) problems.addSentence(path, 'timeframe must not exceed 10 minutes');
    else if (from * 1000 < now.getTime() - MAX_AGE_MS)
      problems.addSentence(path, 'timeframe must be within the last 24 hours');
  }
  problems.throwIfAny(query);
  return { ...breakdown, limit, window: { ...window, toMs: Math.max(window.fromMs, window.toMs) } };
};
