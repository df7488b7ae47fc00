import type { AssetInput, UploadRequest, VideoQuality } from '../../domain/requests/asset-request.js';
import { isObject, Problems } from '../../lib/problems.js';
import type { CreateAssetBody } from '../schemas/asset.js';
import { CreateUploadBody } from '../schemas/upload.js';
import { toRequest, validateTogether, writeOut } from './create-asset.js';
import { formats } from './formats.js';
import { impliesMainInput } from './inputs.js';
import { requireJsonObject, validate } from './validate.js';

const SETTINGS = 'new_asset_settings';
/** The current and the deprecated name. */
const INPUTS: readonly string[] = ['inputs', 'input'];
const DEFAULT_TIMEOUT_SECONDS = 3600;
/**
 * A placeholder URL for the uploaded file while the rules for inputs are checked; it never refers
 * to an asset.
 */
const UPLOADED_FILE = 'https://upload.invalid/';

/**
 * Checks everything in a request for a direct upload that needs no lookup.
 * @throws KinoraError `invalid_parameters` with one message per problem, in body order
 */
export const validateCreateUpload = (body: unknown, defaultVideoQuality: VideoQuality): UploadRequest => {
  const problems = new Problems();
  const below = problems.below([SETTINGS]);
  const rawBody = requireJsonObject(body);
  const isGiven = isObject(rawBody[SETTINGS]);
  const settings = isGiven ? withoutEmptyInputs(rawBody[SETTINGS] as Record<string, unknown>) : {};
  const firstPosition = impliesMainInput([settings.inputs ?? settings.input].flat()[0]) ? 1 : 0;
  const full = writeOut(settings, firstPosition, below);
  const written = firstPosition === 0 ? withMainUrl(full, below) : full;
  const parsedBody = validate(CreateUploadBody, { ...rawBody, ...(isGiven && { [SETTINGS]: written }) }, [], problems);
  const knownSettings = parsedBody.new_asset_settings ?? {};
  const asset = toRequest({ body, base: [SETTINGS] }, knownSettings, defaultVideoQuality);
  validateTogether(asset, settings, firstPosition, below);
  problems.throwIfAny(body);
  return {
    corsOrigin: parsedBody.cors_origin ?? '*',
    timeoutSeconds: parsedBody.timeout ?? DEFAULT_TIMEOUT_SECONDS,
    test: parsedBody.test ?? false,
    newAssetSettings: firstPosition === 0 ? withoutMainUrl(knownSettings) : knownSettings,
    asset: { ...asset, inputs: firstPosition === 0 ? withoutUrl(asset.inputs) : [{}, ...asset.inputs] },
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
const withMainUrl = (settings: Record<string, unknown>, problems: Problems): Record<string, unknown> => {
  const full = { ...settings };
  for (const name of INPUTS) {
    const inputs = full[name];
    if (!Array.isArray(inputs) || !isObject(inputs[0])) continue;
    const { url } = inputs[0];
    if (url != null) problems.add(['inputs', 0, 'url'], 'must be omitted for direct uploads');
    const isUrl = typeof url === 'string' && formats['input-url']!(url) === undefined;
    full[name] = [{ ...inputs[0], url: isUrl ? url : UPLOADED_FILE }, ...inputs.slice(1)];
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
