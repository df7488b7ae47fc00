import { Type } from 'typebox';
import type { DeliveryReport } from '../../domain/usage/list-delivery-usage.js';
import { id, unixSeconds } from '../schemas/response.js';
import { unixSeconds as unixText, withoutNulls } from '../wire.js';
import { ENCODING_TIER } from './asset.js';

const { Optional, Object: Fields, Enum, Number: Numeric, Integer, String: Text } = Type;

export const UsageExportResponse = Fields(
  {
    date: Text({ description: 'Day that the export covers' }),
    download_url: Text({ format: 'uri', description: 'Signed URL of the export file' }),
    download_url_expires_at: Integer({ description: 'When the URL expires, in Unix seconds' }),
    file_size: Type.Union([Integer(), Type.Null()], { description: 'Size of the file in bytes; `null` if unknown' }),
  },
  { title: 'UsageExport', description: 'A file with the usage of one day. Kinora makes none' },
);

const tierSeconds = (tier: string) =>
  Optional(Numeric({ description: `Seconds delivered as ${tier}. Absent if there are none` }));

export const DeliveryUsageResponse = Fields(
  {
    asset_id: id('ID of the asset that was delivered'),
    live_stream_id: Optional(id('ID of the live stream that the asset was recorded from')),
    asset_state: Enum(['ready', 'errored', 'deleted'], { description: 'State of the asset now' }),
    asset_duration: Optional(Numeric({ description: 'Length of the asset in seconds. Absent if unknown' })),
    asset_resolution_tier: Optional(Text({ description: 'The `resolution_tier` of the asset. Absent if unknown' })),
    asset_encoding_tier: Optional(Text({ description: 'The deprecated `encoding_tier` of the asset' })),
    asset_video_quality: Optional(Text({ description: 'The `video_quality` of the asset' })),
    created_at: unixSeconds('When the asset was created'),
    deleted_at: Optional(unixSeconds('When the asset was deleted. Present only for deleted assets')),
    passthrough: Optional(Text({ description: 'The `passthrough` of the asset. Present when set' })),
    delivered_seconds: Numeric({ description: 'Seconds of the asset that were sent to viewers in the period' }),
    delivered_seconds_by_resolution: Fields(
      {
        tier_2160p: tierSeconds('2160p: more than 4,194,304 pixels'),
        tier_1440p: tierSeconds('1440p: at most 4,194,304 pixels'),
        tier_1080p: tierSeconds('1080p: at most 2,073,600 pixels'),
        tier_720p: tierSeconds('720p: at most 921,600 pixels'),
        tier_audio_only: tierSeconds('audio without video'),
      },
      { description: 'The delivered seconds, split by the resolution that viewers received' },
    ),
  },
  { title: 'DeliveryUsage', description: 'How much of an asset was sent to viewers in a period' },
);

export const serializeDeliveryReport = ({ asset, tiers }: DeliveryReport) =>
  withoutNulls({
    asset_id: asset.id,
    live_stream_id: asset.live_stream_id,
    asset_state: asset.state,
    asset_duration: asset.duration_seconds,
    asset_resolution_tier: asset.resolution_tier,
    asset_encoding_tier: ENCODING_TIER[asset.video_quality],
    asset_video_quality: asset.video_quality,
    created_at: unixText(asset.created_at),
    deleted_at: asset.deleted_at && unixText(asset.deleted_at),
    passthrough: asset.passthrough,
    delivered_seconds: round3(tiers.reduce((sum, { seconds }) => sum + seconds, 0)),
    delivered_seconds_by_resolution: Object.fromEntries(
      tiers.map(({ tier, seconds }) => [`tier_${tier.replace('-', '_')}`, round3(seconds)]),
    ),
  });

const round3 = (value: number): number => Math.round(value * 1000) / 1000;
