import type { Queryable } from '../database.js';
import type { Row } from '../schema.js';

/** Those of several assets at once, each asset's in creation order. */
export const listTracks = async (db: Queryable, assetIds: readonly string[]): Promise<Row<'track'>[]> =>
  assetIds.length === 0
    ? []
    : db.selectFrom('track').selectAll().where('asset_id', 'in', assetIds).orderBy('seq').execute();
