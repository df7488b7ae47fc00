import type { Queryable } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

export const listContentKeys = (
  db: Queryable,
  configurationId: string,
  assetId: string,
): Promise<Row<'content_key'>[]> =>
  db
    .selectFrom('content_key')
    .selectAll()
    .where('drm_configuration_id', '=', configurationId)
    .where('asset_id', '=', assetId)
    .execute();

/** Existing keys are not changed. */
export const insertContentKeys = async (db: Queryable, rows: readonly NewRow<'content_key'>[]): Promise<void> => {
  await db
    .insertInto('content_key')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};
