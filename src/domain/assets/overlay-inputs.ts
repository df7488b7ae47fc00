import type { Row } from '../../db/schema.js';
import type { OverlaySettings } from '../../media/overlay/geometry.js';
import type { AssetInput } from '../requests/asset-request.js';
import { roleOfInput } from '../requests/inputs.js';

/** An input that is laid over the video. */
export interface OverlayInput {
  readonly position: number;
  readonly url: string;
  readonly settings: OverlaySettings;
}

/** The overlays among the inputs of an asset, in request order. */
export const overlayInputs = (inputs: readonly Pick<Row<'asset_input'>, 'position' | 'settings'>[]): OverlayInput[] =>
  inputs
    .map(({ position, settings }) => ({ position, input: settings as unknown as AssetInput }))
    .filter(({ position, input }) => roleOfInput(input, position) === 'overlay')
    .map(({ position, input }) => ({
      position,
      url: input.url!,
      settings: input.overlay_settings ?? {},
    }));
