import type { Usage } from '../../api/usage';
import { writeCsv } from '../../lib/csv';

/** The names of the resolutions that were sent, such as `tier_720p`. */
export const tiersOf = ({ assets }: Usage): string[] =>
  [...new Set(assets.flatMap((asset) => Object.keys(asset.delivered_seconds_by_resolution)))].sort();

/**
 * One line per asset: its ID, state, passthrough, and the seconds that were sent in total and by
 * resolution.
 */
export const writeUsageCsv = (usage: Usage): string => {
  const tiers = tiersOf(usage);
  const head = ['asset_id', 'asset_state', 'passthrough', 'delivered_seconds', ...tiers];
  const rows = usage.assets.map((asset) => [
    asset.asset_id,
    asset.asset_state,
    asset.passthrough,
    asset.delivered_seconds,
    ...tiers.map((tier) => asset.delivered_seconds_by_resolution[tier] ?? 0),
  ]);
  return writeCsv(head, rows);
};
