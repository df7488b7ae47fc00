import type { Path, Problems } from '../../lib/problems.js';
import { filterableMetrics, type MetricId } from '../metrics.js';
import { type Query, readArray } from './query-values.js';

/** One condition of `metric_filters[]`. Views without a value of the metric don't meet it. */
export interface MetricFilter {
  readonly metric: MetricId;
  readonly operator: '>=' | '<=' | '>' | '<';
  /** In the unit of the metric. */
  readonly value: number;
}

const METRIC_FILTER = /^\s*(\w+)\s*(>=|<=|>|<)\s*(-?(?:\d+\.?\d*|\.\d+))\s*$/;

export const readMetricFilters = (query: Query, problems: Problems): MetricFilter[] =>
  readArray(query, 'metric_filters')
    .filter(({ text }) => text !== '')
    .flatMap(({ text, path }) => parseMetricFilter(text, path, problems) ?? []);

const parseMetricFilter = (text: string, path: Path, problems: Problems): MetricFilter | undefined => {
  const [, metric = '', operator, value] = METRIC_FILTER.exec(text) ?? [];
  if (operator === undefined) {
    problems.addSentence(path, `metric filter ${text} must be a metric, one of >=, <=, > or <, and a number`);
  } else if (!(filterableMetrics as readonly string[]).includes(metric)) {
    problems.addSentence(path, `metric filter ${text} has the unknown metric ${metric}`);
  } else {
    return { metric: metric as MetricId, operator: operator as MetricFilter['operator'], value: Number(value) };
  }
  return undefined;
};
