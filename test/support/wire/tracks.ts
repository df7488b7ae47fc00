import { setTimeout as delay } from 'node:timers/promises';
import { getAsset, type WireAsset } from './create-asset.js';

/** The asset once none of its tracks is preparing. */
export const withTracks = async (
  server: Parameters<typeof getAsset>[0],
  { id }: Pick<WireAsset, 'id'>,
  limitMs = 120_000,
): Promise<WireAsset> => {
  const until = performance.now() + limitMs;
  for (;;) {
    const asset = await getAsset(server, id);
    if (asset.tracks!.every(({ status }) => status !== 'preparing')) return asset;
    if (performance.now() > until) throw new Error(`still preparing: ${JSON.stringify(asset.tracks)}`);
    await delay(100);
  }
};
