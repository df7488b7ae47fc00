import type { Queryable } from '../../database.js';

interface UnfinishedSources {
  /** Assets that are preparing or live, and the future assets of waiting uploads. */
  readonly assetIds: readonly string[];
  readonly tracks: readonly { readonly assetId: string; readonly trackId: string }[];
}

/** Lists the assets and tracks whose files are still being fetched or uploaded. */
export const listUnfinishedSources = async (db: Queryable): Promise<UnfinishedSources> => {
  const assets = await db
    .selectFrom('asset')
    .select('id')
    .where(({ or, eb }) => or([eb('status', '=', 'preparing'), eb('is_live', '=', true)]))
    .execute();
  const uploads = await db.selectFrom('upload').select('target_asset_id').where('status', '=', 'waiting').execute();
  const tracks = await db
    .selectFrom('track')
    .innerJoin('asset', 'asset.id', 'track.asset_id')
    .select(['track.id as trackId', 'track.asset_id as assetId'])
    .where('track.status', '=', 'preparing')
    .where('asset.status', '!=', 'errored')
    .execute();
  return { assetIds: [...assets.map(({ id }) => id), ...uploads.map((row) => row.target_asset_id)], tracks };
};
