import type { Queryable } from '../db/database.js';
import { metricGroups } from './comparison.js';
import { type MetricId, metrics } from './metrics.js';
import type { ViewSelection } from './requests/view-selection.js';
import { type ComparisonTotals, readMetricValues, readTotals } from './tables/metric-values.js';

/** All metrics that belong to the time at which views end; the totals have the others. */
const endedMetrics = metricGroups
  .flatMap(({ score, items }) => [...(score ? [score] : []), ...items])
  .map((id) => metrics[id]);

/** The values of all metrics with their default measurements. */
export const compareMetrics = async (
  db: Queryable,
  environmentId: string,
  selection: ViewSelection,
): Promise<{
  readonly started: ComparisonTotals;
  readonly ended: ComparisonTotals;
  readonly values: ReadonlyMap<MetricId, number | null>;
}> => {
  const started = await readTotals(db, environmentId, selection, 'started_at');
  const ended = await readTotals(db, environmentId, selection, 'ended_at');
  const values = await readMetricValues(db, environmentId, endedMetrics, selection);
  return { started, ended, values: new Map(endedMetrics.map(({ id }, at) => [id, values[at]!])) };
};
