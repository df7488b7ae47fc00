import {
  countDeliveredAssets,
  findReportedAssets,
  listDeliveredAssets,
  sumDeliveredTiers,
} from '../../db/tables/playback/usage.js';
import { isId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import type { PageQuery } from '../requests/list-query.js';

/** A time window in Unix seconds, including the start and excluding the end. */
export type Window = readonly [startSeconds: number, endSeconds: number];

export interface DeliveryUsageQuery {
  readonly page: PageQuery;
  readonly window: Window;
  readonly assetId: string | undefined;
  readonly liveStreamId: string | undefined;
}

/** The delivery of an asset in a time window; the asset may have been deleted. */
export interface DeliveryReport {
  readonly asset: {
    readonly id: string;
    readonly state: string;
    readonly created_at: Date;
    readonly deleted_at: Date | null;
    readonly duration_seconds: number | null;
    readonly resolution_tier: string | null;
    readonly video_quality: 'basic' | 'plus' | 'premium';
    readonly passthrough: string | null;
    readonly live_stream_id: string | null;
  };
  readonly tiers: readonly { readonly tier: string; readonly seconds: number }[];
}

export interface DeliveryUsagePage {
  readonly reports: DeliveryReport[];
  /** On all pages. */
  readonly totalCount: number;
}

const MINUTE_SECONDS = 60;

/**
 * The delivery usage of an environment's assets, highest first. Every minute that overlaps the
 * window is counted.
 */
export const listDeliveryUsage = async (
  { database, clock }: Pick<DomainContext, 'database' | 'clock'>,
  environmentId: string,
  { page, window, assetId, liveStreamId }: DeliveryUsageQuery,
): Promise<DeliveryUsagePage> => {
  if ([assetId, liveStreamId].some((id) => id !== undefined && !isId(id))) return { reports: [], totalCount: 0 };
  // Nothing is delivered in the future, and a Date can't represent all of it.
  const latest = clock.now().getTime() / 1000 + MINUTE_SECONDS;
  const [start, end] = window.map((seconds) => Math.min(seconds, latest)) as [number, number];
  const filter = {
    environmentId,
    from: new Date((start - (start % MINUTE_SECONDS)) * 1000),
    before: new Date(end * 1000),
    assetId,
    liveStreamId,
  };
  const db = database.queryable;
  const totalCount = await countDeliveredAssets(db, filter);
  const ids = await listDeliveredAssets(db, filter, page);
  const tiers = await sumDeliveredTiers(db, filter, ids);
  const assets = new Map((await findReportedAssets(db, ids)).map((asset) => [asset.id, asset]));
  return {
    reports: ids.map((id) => ({ asset: assets.get(id)!, tiers: tiers.filter(({ asset_id }) => asset_id === id) })),
    totalCount,
  };
};
