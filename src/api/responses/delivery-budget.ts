import { Type } from 'typebox';
import type { BudgetView } from '../../domain/usage/budget-view.js';
import { ACTION, PERIOD } from '../schemas/delivery-budget.js';
import { id, unixSeconds } from '../schemas/response.js';
import { unixSeconds as unixText, type Wire, withoutNulls } from '../wire.js';

const { Optional, Object: Fields, Enum, Integer, Number: Numeric } = Type;

export const DeliveryBudgetResponse = Fields(
  {
    id: id('Unique ID of the budget'),
    asset_id: Optional(id('ID of the asset that the budget is for. Absent for one of the environment')),
    created_at: unixSeconds('When the budget was created'),
    updated_at: unixSeconds('When its rules last changed'),
    period: Enum(['day', 'month'], { description: PERIOD }),
    bytes: Optional(Integer({ description: 'Most bytes of a period. Absent for a budget of seconds' })),
    seconds: Optional(Integer({ description: 'Most seconds of a period. Absent for a budget of bytes' })),
    action: Enum(['notify', 'step_down', 'stop'], { description: ACTION }),
    delivered_bytes: Optional(
      Integer({ description: 'Bytes that were delivered in the current period. Absent for a budget of seconds' }),
    ),
    delivered_seconds: Optional(
      Numeric({ description: 'Seconds that were delivered in the current period. Absent for a budget of bytes' }),
    ),
    status: Enum(['within', 'warning', 'spent'], {
      description: '`warning` from 80 % of the amount on, `spent` when all of it was delivered in the current period',
    }),
    period_started_at: unixSeconds('When the current period began'),
    period_ends_at: unixSeconds('When the current period ends and the next one begins with nothing delivered'),
  },
  {
    title: 'DeliveryBudget',
    description: 'How much may be delivered to viewers in a day or month, and what follows when it was',
  },
);

export const PublicRestrictionResponse = Fields(
  {
    playback_restriction_id: Type.Union([Type.String(), Type.Null()], {
      description: 'ID of the restriction that applies to public playback IDs. `null` if everyone may play them',
    }),
  },
  { title: 'PublicPlaybackRestriction', description: 'Who may play the public playback IDs of the environment' },
);

const fieldsOf = (budget: BudgetView, time: (date: Date) => string | number): Wire => {
  const { id, asset_id, created_at, updated_at, period, unit, amount, action, delivered, status } = budget;
  return withoutNulls({
    id,
    asset_id,
    created_at: time(created_at),
    updated_at: time(updated_at),
    period,
    [unit]: amount,
    action,
    [`delivered_${unit}`]: Math.round(delivered * 1000) / 1000,
    status,
    period_started_at: time(budget.startsAt),
    period_ends_at: time(budget.endsAt),
  });
};

export const serializeDeliveryBudget = (budget: BudgetView): Wire => fieldsOf(budget, unixText);

/** Times of events are numbers. */
export const serializeDeliveryBudgetEvent = (budget: BudgetView): Wire =>
  fieldsOf(budget, (date) => Number(unixText(date)));
