// Answers what the plan is: the settings of the asset that it depends on.

import type { Row } from '../db/schema.js';
import type { OverlayInput } from '../domain/assets/overlay-inputs.js';
import type { OverlayFile } from '../media/overlay/file.js';
import { placeOverlay } from '../media/overlay/geometry.js';
import type { Size } from '../media/plan/ladder.js';
import type { OverlayPlacement } from '../media/plan/plan.js';
import type { AssetSettings } from '../media/plan/plan-asset.js';

/**
 * A stored overlay and its requested appearance; its position is computed when the shape of the
 * frame is known.
 */
export interface StoredOverlay {
  readonly input: OverlayInput;
  readonly file: OverlayFile;
}

export interface SettingsContext {
  readonly assetId: string;
  readonly row: {
    readonly asset: Pick<Row<'asset'>, 'video_quality' | 'max_resolution_tier' | 'is_test'> &
      Partial<Pick<Row<'asset'>, 'live_stream_id'>>;
  };
}

/** The asset's settings for frames and audio. */
export const readSettings = (
  { assetId, row: { asset } }: SettingsContext,
  overlays: readonly StoredOverlay[],
): AssetSettings => ({
  quality: asset.video_quality,
  maxResolutionTier: asset.max_resolution_tier,
  isTest: asset.is_test,
  isRecording: (asset.live_stream_id ?? null) !== null,
  placeOverlays: (frame) => placeOverlays(assetId, overlays, frame),
});

/** Positions the overlays on a frame of this shape. */
const placeOverlays = (assetId: string, overlays: readonly StoredOverlay[], frame: Size): readonly OverlayPlacement[] =>
  overlays.map(({ input: { position, settings }, file }) => ({
    assetId,
    input: position,
    ...placeOverlay(settings, file.natural, frame),
    image: file.stored,
  }));
