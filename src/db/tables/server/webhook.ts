import { sql } from 'kysely';
import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

/** The SQLSTATE code. */
const UNIQUE_VIOLATION = '23505';

/** Undefined when the environment already has a webhook with this address. */
export const insertWebhook = (db: Queryable, row: NewRow<'webhook'>): Promise<Row<'webhook'> | undefined> =>
  db
    .insertInto('webhook')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();

export const findWebhook = (db: Queryable, environmentId: string, id: string): Promise<Row<'webhook'> | undefined> =>
  db
    .selectFrom('webhook')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Locks the webhook until the transaction ends; new events wait for the result. */
export const lockWebhook = (tx: Transaction, environmentId: string, id: string): Promise<Row<'webhook'> | undefined> =>
  tx
    .selectFrom('webhook')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .forUpdate()
    .executeTakeFirst();

export const findWebhookByAddress = (
  db: Queryable,
  environmentId: string,
  address: string,
): Promise<Row<'webhook'> | undefined> =>
  db
    .selectFrom('webhook')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .where(sql<boolean>`md5(address) = md5(${address})`)
    .executeTakeFirst();

/** Finds the webhook that was created from the configuration. */
export const findConfiguredWebhook = (db: Queryable): Promise<Row<'webhook'> | undefined> =>
  db.selectFrom('webhook').selectAll().where('configured', '=', true).executeTakeFirst();

/** Newest first. */
export const listWebhooks = (
  db: Queryable,
  environmentId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<Row<'webhook'>[]> =>
  db
    .selectFrom('webhook')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();

type WebhookChange = Partial<Pick<Row<'webhook'>, 'address' | 'enabled' | 'signing_secret' | 'configured'>>;

/**
 * Undefined when another webhook of the environment has the address; the transaction must then be
 * rolled back.
 */
export const updateWebhook = async (
  tx: Transaction,
  id: string,
  change: WebhookChange,
): Promise<Row<'webhook'> | undefined> => {
  try {
    return await tx.updateTable('webhook').set(change).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
  } catch (error) {
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return undefined;
    throw error;
  }
};

/** Also removes its deliveries. False when there is no such webhook. */
export const removeWebhook = async (db: Queryable, environmentId: string, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom('webhook')
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};

/** Lists the webhooks that have a delivery due. */
export const listDueWebhooks = async (db: Queryable, now: Date): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from webhook
    where enabled and exists (
      select from webhook_delivery
      where webhook_id = webhook.id and state = 'pending' and next_attempt_at <= ${now}::timestamptz
    )`.execute(db);
  return rows.map(({ id }) => id);
};
