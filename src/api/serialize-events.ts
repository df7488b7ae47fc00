import { type AssetView, serializeAsset } from './serialize.js';

/** An asset inside an event: as the API shows it, but with its time of creation as a number. */
export const serializeAssetEvent = (view: AssetView): object => ({
  ...serializeAsset(view),
  created_at: Math.floor(view.asset.created_at.getTime() / 1000),
});
