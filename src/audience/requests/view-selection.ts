import type { Window } from '../../domain/usage/list-delivery-usage.js';
import type { Problems } from '../../lib/problems.js';
import { readFilters, type ViewFilter } from './filters.js';
import { type MetricFilter, readMetricFilters } from './metric-filters.js';
import type { Query } from './query-values.js';
import { readViewTimeframe } from './timeframe.js';

/** Which views a request is about. */
export interface ViewSelection {
  /** Start and end in Unix seconds; the end is exclusive. */
  readonly timeframe: Window;
  readonly filters: readonly ViewFilter[];
  readonly metricFilters: readonly MetricFilter[];
}

/** Reads `timeframe[]`, `filters[]` and `metric_filters[]`; errors are added to `problems`. */
export const readViewSelection = (query: Query, now: Date, problems: Problems): ViewSelection => ({
  timeframe: readViewTimeframe(query, now, problems),
  filters: readFilters(query, problems),
  metricFilters: readMetricFilters(query, problems),
});
