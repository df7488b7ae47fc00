import type { Queryable, Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAsset } from '../../db/tables/assets/asset.js';
import {
  type BudgetTarget,
  countDeliveryBudgets,
  type Delivered,
  findDeliveryBudget,
  findOtherBudget,
  insertDeliveryBudget,
  listDeliveryBudgets as listRows,
  lockDeliveryBudgets,
  removeDeliveryBudget,
  sumDelivered,
  updateDeliveryBudget,
} from '../../db/tables/playback/delivery-budget.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import type { PageQuery } from '../requests/list-query.js';
import { type BudgetPeriod, periodStart } from './budget-period.js';
import { type BudgetRules, type BudgetView, viewBudget } from './budget-view.js';

type Budget = Row<'delivery_budget'>;
type Context = Pick<DomainContext, 'database' | 'clock' | 'onBudgetChanged'>;

export interface NewBudget extends BudgetRules {
  readonly assetId: string | null;
}

/** Servers read all budgets of an environment that are spent at once. */
const MAX_BUDGETS = 10_000;

/**
 * It begins with what was delivered in the current period. `assetId` null: for everything that the
 * environment delivers.
 * @throws KinoraError `invalid_parameters`
 */
export const createDeliveryBudget = async (
  { database, clock, onBudgetChanged }: Context,
  environmentId: string,
  { assetId, ...rules }: NewBudget,
): Promise<BudgetView> => {
  const view = await database.transaction(async (tx) => {
    const target = { environment_id: environmentId, asset_id: assetId };
    if (assetId !== null && !(isId(assetId) && (await lockAsset(tx, environmentId, assetId, 'forChild'))))
      throw invalidParameters('asset_id does not refer to an existing asset');
    const now = clock.now();
    await lockDeliveryBudgets(tx);
    if ((await countDeliveryBudgets(tx, environmentId)) >= MAX_BUDGETS)
      throw invalidParameters(`An environment can have at most ${MAX_BUDGETS} delivery budgets`);
    const created = await insertDeliveryBudget(tx, {
      id: newId(),
      ...target,
      created_at: now,
      updated_at: now,
      ...rules,
      ...(await begin(tx, target, rules.period, now)),
    });
    if (!created) throw alreadyExists(target, rules.period);
    return viewBudget(created, now);
  });
  onBudgetChanged();
  return view;
};

const alreadyExists = ({ asset_id }: BudgetTarget, period: BudgetPeriod): KinoraError =>
  invalidParameters(
    `A delivery budget of ${asset_id === null ? 'the environment' : 'the asset'} with period ${period} already exists`,
  );

const begin = async (tx: Transaction, target: BudgetTarget, period: BudgetPeriod, now: Date) => {
  const period_start = periodStart(period, now);
  const { bytes, seconds }: Delivered = await sumDelivered(tx, target, period_start);
  return { period_start, delivered_bytes: bytes, delivered_seconds: seconds };
};

/** Newest first, with the total count. `assetId` null lists those of the environment itself. */
export const listDeliveryBudgets = async (
  { database, clock }: Context,
  environmentId: string,
  page: PageQuery,
  assetId?: string | null,
): Promise<{ readonly budgets: BudgetView[]; readonly total: number }> => {
  const db = database.queryable;
  const [rows, total] = await Promise.all([
    listRows(db, environmentId, page, assetId),
    countDeliveryBudgets(db, environmentId, assetId),
  ]);
  const now = clock.now();
  return { budgets: rows.map((row) => viewBudget(row, now)), total };
};

/** @throws KinoraError `not_found` */
export const getDeliveryBudget = async (
  { database, clock }: Context,
  environmentId: string,
  id: string,
): Promise<BudgetView> => viewBudget(await getRow(database.queryable, environmentId, id), clock.now());

const getRow = async (db: Queryable, environmentId: string, id: string, options?: { readonly lock: true }) => {
  const row = isId(id) ? await findDeliveryBudget(db, environmentId, id, options) : undefined;
  if (!row) throw new KinoraError('not_found');
  return row;
};

/**
 * Changes the rules; what was delivered in the period stays. A threshold that is no longer reached
 * has its event again.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const changeDeliveryBudget = async (
  { database, clock, onBudgetChanged }: Context,
  environmentId: string,
  id: string,
  change: Partial<BudgetRules>,
): Promise<BudgetView> => {
  const view = await database.transaction(async (tx) => {
    await lockDeliveryBudgets(tx);
    const before = await getRow(tx, environmentId, id, { lock: true });
    const now = clock.now();
    const { period = before.period } = change;
    const isOther = period !== before.period;
    if (isOther && (await findOtherBudget(tx, before, period))) throw alreadyExists(before, period);
    const fresh = isOther ? await begin(tx, before, period, now) : {};
    const { delivered, amount } = viewBudget({ ...before, ...change, ...fresh }, now);
    const share = delivered / amount;
    const reached = share >= 1 ? 100 : share >= 0.8 ? 80 : 0;
    const reported = isOther ? 0 : (Math.min(reached, before.reported) as Budget['reported']);
    return viewBudget(await updateDeliveryBudget(tx, id, { ...change, ...fresh, reported, updated_at: now }), now);
  });
  onBudgetChanged();
  return view;
};

/** Playback that it limited goes on. @throws KinoraError `not_found` */
export const deleteDeliveryBudget = async (
  { database, onBudgetChanged }: Context,
  environmentId: string,
  id: string,
): Promise<void> => {
  const removed = isId(id) && (await removeDeliveryBudget(database.queryable, environmentId, id));
  if (!removed) throw new KinoraError('not_found');
  onBudgetChanged();
};
