import type { Queryable, Transaction } from '../../database.js';
import type { NewRow } from '../../schema.js';

type MasterColumns = Pick<NewRow<'asset'>, 'master_access' | 'master_status' | 'master_id' | 'master_ready_at'>;

export const setMaster = async (tx: Transaction, assetId: string, change: MasterColumns): Promise<void> => {
  await tx.updateTable('asset').set(change).where('id', '=', assetId).execute();
};

/**
 * Changes the master requested as `masterId`. False when that master is no longer wanted or not in
 * the state `from`.
 */
export const updateMaster = async (
  db: Queryable,
  assetId: string,
  { masterId, from }: { readonly masterId: string; readonly from: 'preparing' | 'ready' },
  change: Partial<MasterColumns>,
): Promise<boolean> => {
  const result = await db
    .updateTable('asset')
    .set(change)
    .where('id', '=', assetId)
    .where('master_id', '=', masterId)
    .where('master_status', '=', from)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
};
