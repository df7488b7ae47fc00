import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';

/** Stores the inputs of an asset in request order. */
export const insertAssetInputs = async (db: Queryable, assetId: string, settings: readonly object[]): Promise<void> => {
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
export const listAssetInputs = (
  db: Queryable,
  assetId: string,
): Promise<(Row<'asset_input'> & { readonly copy_decision: string | null })[]> =>
  db
    .selectFrom('asset_input')
    .leftJoin('asset_media', (join) =>
      join.onRef('asset_media.asset_id', '=', 'asset_input.asset_id').on('asset_input.position', '=', 0),
    )
    .selectAll('asset_input')
    .select(sql<string | null>`asset_media.plan -> 'video' ->> 'copyDecision'`.as('copy_decision'))
    .where('asset_input.asset_id', '=', assetId)
    .orderBy('position')
    .execute();
