import { findAsset } from '../db/tables/assets/asset.js';
import type { DomainContext } from '../domain/context.js';
import type { Window } from '../domain/usage/list-delivery-usage.js';
import { KinoraError } from '../lib/errors.js';
import { isId } from '../lib/ids.js';
import { findHotspots, type Hotspot } from './calculations/heatmap.js';
import { Retention, type RetentionPoint } from './calculations/retention.js';
import { eachWatchedRanges, findWatchedDuration } from './tables/watched-ranges.js';

export interface AssetRetention {
  /** Views that played something. */
  readonly views: number;
  readonly durationMs: number;
  readonly points: readonly RetentionPoint[];
  /** Played most, first. */
  readonly hotspots: readonly Hotspot[];
}

/**
 * How many views still watch at each time of an asset.
 * @throws KinoraError `not_found` for unknown IDs and those of other environments
 */
export const readRetention = async (
  { database: { queryable: db } }: Pick<DomainContext, 'database'>,
  { environmentId, assetId, timeframe }: { environmentId: string; assetId: string; timeframe: Window },
): Promise<AssetRetention> => {
  if (!isId(assetId) || !(await findAsset(db, environmentId, assetId))) throw new KinoraError('not_found');
  const target = { environmentId, dimension: 'asset_id', id: assetId, timeframe } as const;
  const durationMs = await findWatchedDuration(db, target);
  if (durationMs === 0) return { views: 0, durationMs, points: [], hotspots: [] };
  const retention = new Retention(durationMs);
  await eachWatchedRanges(db, target, (ranges) => retention.add(ranges));
  const { heatmap } = retention;
  return {
    views: heatmap.views,
    durationMs,
    points: retention.points(),
    hotspots: findHotspots(heatmap.values(), durationMs, 'desc'),
  };
};
