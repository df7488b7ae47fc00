import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';
import { findAssetById } from './asset.js';

export const findShots = (db: Queryable, assetId: string): Promise<Row<'shots'> | undefined> =>
  db.selectFrom('shots').selectAll().where('asset_id', '=', assetId).executeTakeFirst();

/** Waits for any change in progress, then locks the shots until the transaction ends. */
export const lockShots = (tx: Transaction, assetId: string): Promise<Row<'shots'> | undefined> =>
  tx.selectFrom('shots').selectAll().where('asset_id', '=', assetId).forUpdate().executeTakeFirst();

/** Replaces the row of an earlier request. */
export const putShots = async (db: Queryable, row: NewRow<'shots'>): Promise<void> => {
  await db
    .insertInto('shots')
    .values(row)
    .onConflict((conflict) => conflict.column('asset_id').doUpdateSet(row))
    .execute();
};

/**
 * Changes shots that are still pending for this request. Undefined when they are no longer wanted.
 */
export const updatePendingShots = async (
  tx: Transaction,
  { assetId, orderId }: { readonly assetId: string; readonly orderId: string },
  change: Pick<NewRow<'shots'>, 'status' | 'start_times' | 'error'>,
): Promise<{ readonly shots: Row<'shots'>; readonly asset: Row<'asset'> } | undefined> => {
  const shots = await tx
    .updateTable('shots')
    .set(change)
    .where('asset_id', '=', assetId)
    .where('order_id', '=', orderId)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirst();
  const asset = shots && (await findAssetById(tx, assetId));
  return asset && { shots, asset };
};
