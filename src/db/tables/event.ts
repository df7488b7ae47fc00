import type { Queryable, Transaction } from '../database.js';
import type { NewRow, Row } from '../schema.js';

export const insertEvent = async (tx: Transaction, row: NewRow<'event'>): Promise<void> => {
  await tx.insertInto('event').values(row).execute();
};

/** The webhooks that get the events of an environment. */
export const listEnabledWebhooks = (db: Queryable, environmentId: string): Promise<Pick<Row<'webhook'>, 'id'>[]> =>
  db
    .selectFrom('webhook')
    .select('id')
    .where('environment_id', '=', environmentId)
    .where('enabled', '=', true)
    .orderBy('seq')
    .execute();

export const insertDeliveries = async (tx: Transaction, rows: readonly NewRow<'webhook_delivery'>[]): Promise<void> => {
  if (rows.length > 0)
    await tx
      .insertInto('webhook_delivery')
      .values([...rows])
      .execute();
};
