import { unixSeconds, withoutNulls } from '../wire.js';
import { ENCODING_TIER } from './asset.js';

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
  };
  readonly tiers: readonly { readonly tier: string; readonly seconds: number }[];
}

export const serializeDeliveryReport = ({ asset, tiers }: DeliveryReport) =>
  withoutNulls({
    asset_id: asset.id,
    asset_state: asset.state,
    asset_duration: asset.duration_seconds,
    asset_resolution_tier: asset.resolution_tier,
    asset_encoding_tier: ENCODING_TIER[asset.video_quality],
    asset_video_quality: asset.video_quality,
    created_at: unixSeconds(asset.created_at),
    deleted_at: asset.deleted_at && unixSeconds(asset.deleted_at),
    passthrough: asset.passthrough,
    delivered_seconds: round3(tiers.reduce((sum, { seconds }) => sum + seconds, 0)),
    delivered_seconds_by_resolution: Object.fromEntries(
      tiers.map(({ tier, seconds }) => [`tier_${tier.replace('-', '_')}`, round3(seconds)]),
    ),
  });

const round3 = (value: number): number => Math.round(value * 1000) / 1000;
