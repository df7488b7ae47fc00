import { sql } from 'kysely';
import type { Queryable, Transaction } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { NewRow, Row } from '../../schema.js';

type Budget = Row<'delivery_budget'>;

/** What was delivered of an asset, or of everything in an environment. */
export interface Delivered {
  readonly bytes: number;
  readonly seconds: number;
}

/** What a budget is for: without an asset, everything that the environment delivers. */
export type BudgetTarget = Pick<Budget, 'environment_id' | 'asset_id'>;

/**
 * Lets nobody count deliveries until the transaction ends, so that a budget which begins with what
 * is stored misses nothing. Whoever changes a budget takes it before rows: two transactions that
 * take them in different orders would wait for each other.
 */
export const lockDeliveryBudgets = async (tx: Transaction): Promise<void> => {
  await sql`lock table delivery_budget in share row exclusive mode`.execute(tx);
};

/** What is stored since `start`. */
export const sumDelivered = async (
  db: Queryable,
  { environment_id, asset_id }: BudgetTarget,
  start: Date,
): Promise<Delivered> => {
  let select = db
    .selectFrom('delivery_usage')
    .select(({ fn }) => [
      sql<number>`coalesce(sum(delivered_bytes), 0)::bigint`.as('bytes'),
      fn.coalesce(fn.sum<number>('delivered_seconds'), sql<number>`0`).as('seconds'),
    ])
    .where('environment_id', '=', environment_id)
    .where('minute', '>=', start);
  if (asset_id !== null) select = select.where('asset_id', '=', asset_id);
  return select.executeTakeFirstOrThrow();
};

/** Undefined when there is one for the same period already. */
export const insertDeliveryBudget = (db: Queryable, row: NewRow<'delivery_budget'>): Promise<Budget | undefined> =>
  db
    .insertInto('delivery_budget')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();

const ofEnvironment = (db: Queryable, environmentId: string, assetId: string | null | undefined) => {
  const select = db.selectFrom('delivery_budget').where('environment_id', '=', environmentId);
  if (assetId === undefined) return select;
  return assetId === null ? select.where('asset_id', 'is', null) : select.where('asset_id', '=', assetId);
};

/** Newest first. `assetId` null lists those of the environment itself. */
export const listDeliveryBudgets = (
  db: Queryable,
  environmentId: string,
  page: { readonly limit: number; readonly offset: number },
  assetId?: string | null,
): Promise<Budget[]> =>
  ofEnvironment(db, environmentId, assetId)
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();

export const countDeliveryBudgets = async (
  db: Queryable,
  environmentId: string,
  assetId?: string | null,
): Promise<number> => {
  const { count } = await ofEnvironment(db, environmentId, assetId)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
};

/** With `lock`, nobody else changes it until the transaction ends. */
export const findDeliveryBudget = (
  db: Queryable,
  environmentId: string,
  id: string,
  options: { readonly lock?: true } = {},
): Promise<Budget | undefined> => {
  const select = db
    .selectFrom('delivery_budget')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId);
  return (options.lock ? select.forUpdate() : select).executeTakeFirst();
};

/** Another budget of the same target with this period. */
export const findOtherBudget = (
  db: Queryable,
  { id, environment_id, asset_id }: Pick<Budget, 'id' | 'environment_id' | 'asset_id'>,
  period: Budget['period'],
): Promise<{ readonly id: string } | undefined> =>
  ofEnvironment(db, environment_id, asset_id)
    .select('id')
    .where('period', '=', period)
    .where('id', '<>', id)
    .executeTakeFirst();

export const updateDeliveryBudget = (
  db: Queryable,
  id: string,
  change: Partial<Omit<NewRow<'delivery_budget'>, 'id' | 'environment_id' | 'asset_id'>>,
): Promise<Budget> =>
  db.updateTable('delivery_budget').set(change).where('id', '=', id).returningAll().executeTakeFirstOrThrow();

/** False when the environment has no such budget. */
export const removeDeliveryBudget = async (db: Queryable, environmentId: string, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom('delivery_budget')
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};

const deliveredShare = sql<number>`budget_share(unit, amount, delivered_bytes, delivered_seconds)`;
const isCurrent = (now: Date) => sql<boolean>`period_start = date_trunc(period, ${now}::timestamptz, 'UTC')`;

/** Those that have reached a threshold whose event is not recorded yet. Locks them all. */
export const lockUnreportedBudgets = async (tx: Transaction, now: Date, limit: number): Promise<Budget[]> => {
  await lockDeliveryBudgets(tx);
  return tx
    .selectFrom('delivery_budget')
    .selectAll()
    .where(isCurrent(now))
    .where('reported', '<', 100)
    .where(sql<boolean>`(${deliveredShare} >= 1 or (${deliveredShare} >= 0.8 and reported < 80))`)
    .orderBy('id')
    .limit(limit)
    .execute();
};

export type SpentBudget = Pick<Budget, 'environment_id' | 'asset_id' | 'period' | 'period_start' | 'action'>;

/** What `readBudgets` returns: which servers obey, and whether there is more to do. */
export interface BudgetState {
  /** Those whose amount was delivered and that limit playback. */
  readonly spent: readonly SpentBudget[];
  /** Whether any budget exists. */
  readonly exist: boolean;
  /** Whether a threshold has an event that is not recorded. */
  readonly unreported: boolean;
}

export const readBudgets = async (db: Queryable, now: Date): Promise<BudgetState> => {
  const rows = await db
    .selectFrom('delivery_budget')
    .select(['environment_id', 'asset_id', 'period', 'period_start', 'action', 'reported'])
    .select(deliveredShare.as('share'))
    .where(isCurrent(now))
    .where(deliveredShare, '>=', 0.8)
    .modifyEnd(prepared)
    .execute();
  const exist =
    rows.length > 0 || (await db.selectFrom('delivery_budget').select('id').limit(1).executeTakeFirst()) !== undefined;
  return {
    exist,
    spent: rows
      .filter(({ share, action }) => share >= 1 && action !== 'notify')
      .map(({ environment_id, asset_id, period, period_start, action }) => ({
        ...{ environment_id, asset_id, period, period_start, action },
      })),
    unreported: rows.some(({ share, reported }) => reported < (share >= 1 ? 100 : 80)),
  };
};
