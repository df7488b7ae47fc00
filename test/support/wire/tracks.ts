import { until } from '../servers/server-process.js';
import { getAsset, type WireAsset } from './create-asset.js';

/** The asset once none of its tracks is preparing. */
export const withTracks = async (
  server: Parameters<typeof getAsset>[0],
  { id }: Pick<WireAsset, 'id'>,
  limitMs = 120_000,
): Promise<WireAsset> => {
  let asset!: WireAsset;
  const areMade = async () => {
    asset = await getAsset(server, id);
    return asset.tracks!.every(({ status }) => status !== 'preparing');
  };
  await until(`the tracks of asset ${id} are made`, areMade, limitMs);
  return asset;
};
