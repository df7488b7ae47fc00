import { until } from '../servers/server-process.js';
import { api, getAsset, type WireAsset } from './create-asset.js';

interface Server {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
}

/** A file as an asset shows it. */
export interface WireFile {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly width?: number;
  readonly height?: number;
  readonly bitrate: number;
  readonly filesize: string;
  readonly [field: string]: unknown;
}

export const filesOf = (asset: WireAsset): WireFile[] =>
  (asset.static_renditions as { files?: WireFile[] } | undefined)?.files ?? [];

/** The asset once none of its files is being made any more. */
export const withFiles = async (server: Server, assetId: string, limitMs = 120_000): Promise<WireAsset> => {
  let asset: WireAsset | undefined;
  await until(
    'the static renditions are made',
    async () => {
      asset = await getAsset(server, assetId);
      return asset.status !== 'preparing' && !JSON.stringify(asset.static_renditions ?? {}).includes('"preparing"');
    },
    limitMs,
    100,
  );
  return asset!;
};

/** What happened to an asset and its files, in order: `ready`, `static_rendition.ready` … */
export const eventsOf = async (server: Server, assetId: string): Promise<{ type: string; data: WireAsset }[]> => {
  const found: { type: string; data: WireAsset }[] = [];
  for (let page = 1; found.length === (page - 1) * 100; page++) {
    const response = await api(server, 'GET', `/system/v1/events?limit=100&page=${page}`);
    found.push(...((await response.json()) as { data: typeof found }).data);
  }
  return found
    .filter((event) => event.data.id === assetId || event.data.asset_id === assetId)
    .map((event) => ({ ...event, type: event.type.replace('video.asset.', '') }))
    .reverse();
};
