import type { Row } from '../../db/schema.js';
import { type BudgetPeriod, periodEnd, periodStart } from './budget-period.js';

type Budget = Row<'delivery_budget'>;

/** How much may be delivered in each period, and what follows. */
export interface BudgetRules {
  readonly period: BudgetPeriod;
  readonly unit: 'bytes' | 'seconds';
  readonly amount: number;
  readonly action: 'notify' | 'step_down' | 'stop';
}

/** A budget as it is now. */
export interface BudgetView extends Pick<Budget, 'id' | 'asset_id' | 'created_at' | 'updated_at'>, BudgetRules {
  /** In the current period, in its unit. */
  readonly delivered: number;
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** `warning` from 80 % of the amount on. */
  readonly status: 'within' | 'warning' | 'spent';
}

export const viewBudget = (row: Budget, now: Date): BudgetView => {
  const { id, asset_id, created_at, updated_at, period, unit, amount, action } = row;
  const startsAt = periodStart(period, now);
  const isCurrent = row.period_start.getTime() === startsAt.getTime();
  const delivered = isCurrent ? deliveredIn(row) : 0;
  const status = delivered >= amount ? 'spent' : delivered >= amount * 0.8 ? 'warning' : 'within';
  const rules = { period, unit, amount, action };
  return {
    ...{ id, asset_id, created_at, updated_at },
    ...{ ...rules, delivered, startsAt, endsAt: periodEnd(period, now), status },
  };
};

const deliveredIn = ({ unit, delivered_bytes, delivered_seconds }: Budget): number =>
  unit === 'bytes' ? delivered_bytes : delivered_seconds;
