import type { AssetInput, AssetRequest, VideoQuality } from '../../domain/requests/asset-request.js';
import { isObject, type Problems } from '../../lib/problems.js';
import type { CreateAssetBody } from '../schemas/asset.js';
import { toRequest, validateTogether, writeOut } from './create-asset.js';
import { formats } from './formats.js';
import { impliesMainInput } from './inputs.js';

/** The field of a body with the settings of an asset whose main file arrives later. */
export const SETTINGS = 'new_asset_settings';
/** The current and the deprecated name. */
const INPUTS: readonly string[] = ['inputs', 'input'];
/**
 * A placeholder URL for the main file while the rules for inputs are checked; it never refers to an
 * asset.
 */
const LATER_FILE = 'https://upload.invalid/';

/** The settings of a body, to be validated by a schema and then read. */
export interface WrittenSettings {
  /** In full; undefined when the body has none. */
  readonly written: Record<string, unknown> | undefined;
  /** What was validated becomes the request, and the settings as they are stored. */
  read(valid: CreateAssetBody): { readonly asset: AssetRequest; readonly settings: Record<string, unknown> };
}

/**
 * Prepares the settings of an asset whose first input, the main file, has no URL and may be left
 * out.
 * @param problems collects problems of the whole body
 */
export const writeOutSettings = (
  body: Record<string, unknown>,
  problems: Problems,
  defaultVideoQuality: VideoQuality,
  kind: 'direct uploads' | 'live streams',
): WrittenSettings => {
  const below = problems.below([SETTINGS]);
  const isGiven = isObject(body[SETTINGS]);
  const settings = isGiven ? withoutEmptyInputs(body[SETTINGS] as Record<string, unknown>) : {};
  const firstPosition = impliesMainInput([settings.inputs ?? settings.input].flat()[0]) ? 1 : 0;
  const full = writeOut(settings, firstPosition, below);
  return {
    written: isGiven ? (firstPosition === 0 ? withMainUrl(full, below, kind) : full) : undefined,
    read: (valid) => {
      const asset = toRequest({ body, base: [SETTINGS] }, valid, defaultVideoQuality);
      validateTogether(asset, settings, firstPosition, below);
      return {
        asset: { ...asset, inputs: firstPosition === 0 ? withoutUrl(asset.inputs) : [{}, ...asset.inputs] },
        settings: firstPosition === 0 ? withoutMainUrl(valid) : valid,
      };
    },
  };
};

/** An empty list of inputs means the same as no list. */
const withoutEmptyInputs = (settings: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings).filter(
      ([name, value]) => !INPUTS.includes(name) || !Array.isArray(value) || value.length > 0,
    ),
  );

/**
 * Adds a placeholder URL to the first input, which must not have one, so that it can be checked
 * like any other input.
 */
const withMainUrl = (settings: Record<string, unknown>, problems: Problems, kind: string): Record<string, unknown> => {
  const full = { ...settings };
  for (const name of INPUTS) {
    const inputs = full[name];
    if (!Array.isArray(inputs) || !isObject(inputs[0])) continue;
    const { url } = inputs[0];
    if (url != null) problems.add(['inputs', 0, 'url'], `must be omitted for ${kind}`);
    const isUrl = typeof url === 'string' && formats['input-url']!(url) === undefined;
    full[name] = [{ ...inputs[0], url: isUrl ? url : LATER_FILE }, ...inputs.slice(1)];
  }
  return full;
};

const withoutUrl = ([main = {}, ...others]: readonly AssetInput[]): AssetInput[] => {
  const { url: _, ...settings } = main;
  return [settings, ...others];
};

const withoutMainUrl = (parsedSettings: CreateAssetBody): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(parsedSettings).map(([name, value]) => [
      name,
      INPUTS.includes(name) ? withoutUrl(value as AssetInput[]) : value,
    ]),
  );
