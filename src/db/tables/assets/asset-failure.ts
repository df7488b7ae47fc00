import type { Queryable } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

export const insertAssetFailure = async (db: Queryable, failure: NewRow<'asset_failure'>): Promise<void> => {
  await db
    .insertInto('asset_failure')
    .values(failure)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

/** Undefined for assets that did not fail, or failed before Kinora stored this. */
export const findAssetFailure = (db: Queryable, assetId: string): Promise<Row<'asset_failure'> | undefined> =>
  db.selectFrom('asset_failure').selectAll().where('asset_id', '=', assetId).executeTakeFirst();
