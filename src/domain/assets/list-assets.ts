import { listAssetViews } from '../../db/tables/assets/asset-reads.js';
import { isId } from '../../lib/ids.js';
import type { AssetView } from '../asset-view/asset-view.js';
import { toAssetView } from '../asset-view/get-asset.js';
import type { DomainContext } from '../context.js';
import type { CursorPosition, ListQuery } from '../requests/list-query.js';

export interface AssetFilter {
  readonly uploadId?: string | undefined;
  readonly liveStreamId?: string | undefined;
}

export interface AssetPage {
  readonly assets: AssetView[];
  /** Null on the last page. */
  readonly next: CursorPosition | null;
}

/** Newest first. */
export const listAssets = async (
  context: DomainContext,
  environmentId: string,
  query: ListQuery,
  filter: AssetFilter,
): Promise<AssetPage> => {
  const { uploadId, liveStreamId } = filter;
  if ([uploadId, liveStreamId].some((id) => id !== undefined && !isId(id))) return { assets: [], next: null };
  // One more than requested, to find out whether there is a next page.
  const pageQuery = { ...query, limit: query.limit + 1, uploadId, liveStreamId };
  const rows = await listAssetViews(context.database, environmentId, pageQuery);
  const page = rows.slice(0, query.limit);
  const last = page.at(-1)?.asset;
  const more = last !== undefined && rows.length > page.length;
  return {
    assets: page.map((row) => toAssetView(context, row)),
    next: more ? { createdAt: last.created_at, seq: last.seq } : null,
  };
};
