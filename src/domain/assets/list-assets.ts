import type { AssetView } from '../../api/serialize/asset.js';
import { encodeCursor, type ListQuery } from '../../api/validate/list-query.js';
import { listAssetViews } from '../../db/tables/assets/asset-reads.js';
import { isId } from '../../lib/ids.js';
import { toAssetView } from '../asset-view/get-asset.js';
import type { DomainContext } from '../context.js';

export interface AssetFilter {
  readonly uploadId?: string | undefined;
  readonly liveStreamId?: string | undefined;
}

export interface AssetPage {
  readonly assets: AssetView[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** Newest first. There are no live streams, so a filter by live stream matches no assets. */
export const listAssets = async (
  context: DomainContext,
  environmentId: string,
  query: ListQuery,
  filter: AssetFilter,
): Promise<AssetPage> => {
  const { uploadId, liveStreamId } = filter;
  const matchesNothing = liveStreamId !== undefined || (uploadId !== undefined && !isId(uploadId));
  if (matchesNothing) return { assets: [], nextCursor: null };
  // One more than requested, to find out whether there is a next page.
  const wanted = { ...query, limit: query.limit + 1, ...(uploadId !== undefined && { uploadId }) };
  const rows = await listAssetViews(context.database, environmentId, wanted);
  const page = rows.slice(0, query.limit);
  const last = page.at(-1)?.asset;
  const more = last !== undefined && rows.length > page.length;
  return {
    assets: page.map((row) => toAssetView(context, row)),
    nextCursor: more ? encodeCursor({ createdAt: last.created_at, seq: last.seq }) : null,
  };
};
