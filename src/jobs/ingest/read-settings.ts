import type { Row } from '../../db/schema.js';
import type { AssetSettings } from '../../media/plan/plan-asset.js';
import { placeOverlays, type StoredOverlay } from './store-overlays.js';

export interface SettingsContext {
  readonly assetId: string;
  readonly row: { readonly asset: Pick<Row<'asset'>, 'video_quality' | 'max_resolution_tier' | 'is_test'> };
}

/** The asset's settings for frames and audio. */
export const readSettings = (
  { assetId, row: { asset } }: SettingsContext,
  overlays: readonly StoredOverlay[],
): AssetSettings => ({
  quality: asset.video_quality,
  maxResolutionTier: asset.max_resolution_tier,
  isTest: asset.is_test,
  placeOverlays: (frame) => placeOverlays(assetId, overlays, frame),
});
