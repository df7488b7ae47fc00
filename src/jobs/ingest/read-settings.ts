import type { AssetSettings } from '../../media/plan/plan-asset.js';
import type { IngestContext } from './context.js';
import { placeOverlays, type StoredOverlay } from './store-overlays.js';

/** The asset's settings for frames and audio. */
export const readSettings = (
  { assetId, row: { asset } }: IngestContext,
  overlays: readonly StoredOverlay[],
): AssetSettings => ({
  quality: asset.video_quality,
  maxResolutionTier: asset.max_resolution_tier,
  isTest: asset.is_test,
  placeOverlays: (frame) => placeOverlays(assetId, overlays, frame),
});
