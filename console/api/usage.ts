import { queryOptions } from '@tanstack/react-query';
import { get } from './client';

/** What viewers were sent of an asset, in seconds of video or audio. */
export interface AssetUsage {
  readonly asset_id: string;
  readonly asset_state: string;
  readonly asset_duration?: number;
  readonly passthrough?: string;
  readonly delivered_seconds: number;
  /** Names such as `tier_720p` or `tier_audio_only`. */
  readonly delivered_seconds_by_resolution: Readonly<Record<string, number>>;
}

export interface Usage {
  readonly assets: readonly AssetUsage[];
  /** From and until, in seconds since 1970. */
  readonly timeframe: readonly [number, number];
}

interface UsagePage {
  readonly data: readonly AssetUsage[];
  readonly total_row_count: number;
  readonly timeframe: readonly [number, number];
}

const PATH = '/video/v1/delivery-usage';
const LIMIT = 100;

/** All pages of the last `hours` hours, highest first. */
export const usageQuery = (hours: number) =>
  queryOptions({
    queryKey: ['usage', hours],
    queryFn: async ({ signal }): Promise<Usage> => {
      const until = Math.floor(Date.now() / 1000);
      const from = until - hours * 3600;
      const load = (page: number): Promise<UsagePage> =>
        get<UsagePage>(`${PATH}?timeframe[]=${from}&timeframe[]=${until}&limit=${LIMIT}&page=${page}`, {}, signal);
      const first = await load(1);
      const assets = [...first.data];
      for (let page = 2; assets.length < first.total_row_count; page += 1) {
        const { data } = await load(page);
        if (data.length === 0) break;
        assets.push(...data);
      }
      return { assets, timeframe: first.timeframe };
    },
  });
