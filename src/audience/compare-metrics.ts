import type { Queryable } from '../db/database.js';
import { metricGroups } from './comparison.js';
import { type MetricId, metrics } from './metrics.js';
import type { ViewSelection } from './requests/view-selection.js';
import { type ComparisonTotals, readMetricValues, readTotals } from './tables/metric-values.js';

/**
 * The values of all metrics with their default measurements. Reads one group after the other, so
 * that other queries of the embedded database get their turn.
 */
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
  const values = new Map<MetricId, number | null>();
  for (const { score, items } of metricGroups) {
    const group = [...(score ? [score] : []), ...items].map((id) => metrics[id]);
    const read = await readMetricValues(db, environmentId, group, selection);
    for (const [at, { id }] of group.entries()) values.set(id, read[at]!);
  }
  return { started, ended, values };
};
