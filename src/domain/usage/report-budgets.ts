import {
  type BudgetState,
  lockUnreportedBudgets,
  readBudgets,
  updateDeliveryBudget,
} from '../../db/tables/playback/delivery-budget.js';
import type { DomainContext } from '../context.js';
import { recordEvent } from '../events/record-event.js';
import { viewBudget } from './budget-view.js';

type Context = Pick<DomainContext, 'database' | 'clock' | 'wire'>;

/** In one transaction. */
const MAX_REPORTED = 100;

/**
 * Reads the budgets, and records the events of thresholds that were reached. The budget remembers
 * the last one in the transaction of the event, so each has its event once, whichever server
 * notices it, and also after a crash.
 */
export const reportBudgets = async (context: Context, now: Date): Promise<BudgetState> => {
  const state = await readBudgets(context.database.queryable, now);
  if (state.unreported) while ((await reportSome(context, now)) === MAX_REPORTED);
  return state;
};

const reportSome = (context: Context, now: Date): Promise<number> =>
  context.database.transaction(async (tx) => {
    const rows = await lockUnreportedBudgets(tx, now, MAX_REPORTED);
    for (const row of rows) {
      const view = viewBudget(row, now);
      const { id, environment_id: environmentId } = row;
      const [data, object] = [context.wire.deliveryBudgetEvent(view), { type: 'delivery_budget', id } as const];
      if (row.reported < 80)
        await recordEvent(context, tx, { environmentId, type: 'video.delivery_budget.warning', object, data });
      if (view.status === 'spent')
        await recordEvent(context, tx, { environmentId, type: 'video.delivery_budget.spent', object, data });
      await updateDeliveryBudget(tx, id, { reported: view.status === 'spent' ? 100 : 80 });
    }
    return rows.length;
  });
