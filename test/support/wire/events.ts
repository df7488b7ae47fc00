import { api } from './create-asset.js';

interface Server {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
}

export interface WireEvent {
  readonly type: string;
  readonly object: { readonly type: string; readonly id: string };
  readonly data: Record<string, unknown>;
}

/** What was told about one object, the oldest first. */
export const eventsOf = async (server: Server, objectId: string): Promise<WireEvent[]> => {
  const response = await api(server, 'GET', `/system/v1/events?object_id=${objectId}&limit=100`);
  return ((await response.json()) as { data: WireEvent[] }).data.reverse();
};

/**
 * What was told about an asset and its tracks, the oldest first, without what all types begin with.
 */
export const toldOfAsset = async (server: Server, assetId: string): Promise<string[]> => {
  const { data } = (await (await api(server, 'GET', '/system/v1/events?limit=100')).json()) as { data: WireEvent[] };
  return data
    .filter(({ data: { id, asset_id } }) => id === assetId || asset_id === assetId)
    .map(({ type }) => type.replace('video.asset.', ''))
    .reverse();
};

/** Without what all of them begin with. */
export const eventTypes = async (server: Server, objectId: string): Promise<string[]> =>
  (await eventsOf(server, objectId)).map(({ type }) => type.replace('video.asset.', ''));
