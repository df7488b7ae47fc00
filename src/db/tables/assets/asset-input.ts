import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';

/** Stores the inputs of an asset in request order. */
export const insertAssetInputs = async (
  db: Queryable,
  assetId: string,
  settings: readonly Record<string, unknown>[],
): Promise<void> => {
  const rows = settings.map((entry, position) => ({
    asset_id: assetId,
    position,
    settings: JSON.stringify(entry),
    file: null,
    early_playback: null,
  }));
  await db.insertInto('asset_input').values(rows).execute();
};

/** In request order. */
export const listAssetInputs = (db: Queryable, assetId: string): Promise<Row<'asset_input'>[]> =>
  db.selectFrom('asset_input').selectAll().where('asset_id', '=', assetId).orderBy('position').execute();
