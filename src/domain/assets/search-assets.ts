import {
  type AssetSearch,
  countFoundAssets,
  findTitles,
  listFoundAssets,
} from '../../db/tables/assets/asset-search.js';
import type { AssetView } from '../asset-view/asset-view.js';
import { toAssetView } from '../asset-view/get-asset.js';
import type { DomainContext } from '../context.js';

export { type AssetSearch, sortColumns } from '../../db/tables/assets/asset-search.js';

/** One page of the assets of an environment, and the number of those that match. */
export const searchAssets = async (
  context: DomainContext,
  environmentId: string,
  search: AssetSearch,
): Promise<{ assets: AssetView[]; total: number }> => {
  const db = context.database.queryable;
  const [rows, total] = await Promise.all([
    listFoundAssets(db, environmentId, search),
    countFoundAssets(db, environmentId, search),
  ]);
  return { assets: rows.map((row) => toAssetView(context, row)), total };
};

/** The titles of some assets of an environment, by ID; without those that have none. */
export const getTitles = async (
  { database }: DomainContext,
  environmentId: string,
  assetIds: readonly string[],
): Promise<Record<string, string>> => {
  const rows = await findTitles(database.queryable, environmentId, assetIds);
  return Object.fromEntries(rows.map(({ id, title }) => [id, title]));
};
