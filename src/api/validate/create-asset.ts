import {
  type AssetInput,
  type AssetRequest,
  ownerColumns,
  type VideoQuality,
} from '../../domain/requests/asset-request.js';
import { isObject, Problems } from '../../lib/problems.js';
import { CreateAssetBody } from '../schemas/asset.js';
import { validateInputs, withoutIgnoredSettings } from './inputs.js';
import { DRM_NEEDS_QUALITY, isDrm, validateDrm } from './playback-id.js';
import { requireJsonObject, validate } from './validate.js';

const REPLACED = { input: 'inputs', playback_policy: 'playback_policies', encoding_tier: 'video_quality' } as const;

const QUALITY_OF_TIER: ReadonlyMap<unknown, VideoQuality> = new Map([
  ['baseline', 'basic'],
  ['smart', 'plus'],
  ['premium', 'premium'],
]);

/**
 * Checks everything in a request for an asset that needs no lookup.
 * @throws KinoraError `invalid_parameters` with one message per problem, in body order
 */
export const validateCreateAsset = (body: unknown, defaultVideoQuality: VideoQuality): AssetRequest => {
  const problems = new Problems();
  const settings = requireJsonObject(body);
  const parsedBody = validate(CreateAssetBody, writeOut(settings, 0, problems), [], problems);
  const request = toRequest({ body, base: [] }, parsedBody, defaultVideoQuality);
  if (settings[request.inputsField] == null) problems.add(['inputs'], 'is required');
  validateTogether(request, settings, 0, problems);
  problems.throwIfAny(body);
  return request;
};

/**
 * Returns the settings in full: drops a deprecated name if the new one is given, and expands short
 * forms.
 * @param firstPosition as in `validateInputs`
 */
export const writeOut = (
  body: Record<string, unknown>,
  firstPosition: 0 | 1,
  problems: Problems,
): Record<string, unknown> => {
  const full = { ...body };
  for (const [old, replacement] of Object.entries(REPLACED)) if (full[replacement] != null) delete full[old];
  if (isObject(full.input)) full.input = [full.input];
  for (const name of ['inputs', 'input']) {
    const value = full[name];
    if (typeof value === 'string') full[name] = [{ url: value }];
    else if (Array.isArray(value))
      full[name] = value.map((input, index) => withoutIgnoredSettings(input, index + firstPosition));
  }
  return writeOutPolicies(full, problems);
};

/** The same for `playback_policies`, which live streams have too. */
export const writeOutPolicies = (body: Record<string, unknown>, problems: Problems): Record<string, unknown> => {
  const full = { ...body };
  if (full.playback_policies != null) delete full.playback_policy;
  for (const name of ['playback_policies', 'playback_policy']) {
    if (typeof full[name] === 'string') full[name] = [full[name]];
    const value = full[name];
    if (Array.isArray(value) && value.includes('drm')) {
      problems.add([name], 'cannot contain drm; use advanced_playback_policies');
      full[name] = value.map((policy) => (policy === 'drm' ? 'public' : policy));
    }
  }
  return full;
};

/** Each value that occurs more than once. */
export const findRepeated = <T>(values: readonly T[]): Set<T> =>
  new Set(values.filter((value, index) => values.indexOf(value) < index));

/** The result is valid only if no problem was found. */
export const toRequest = (
  { body, base }: Pick<AssetRequest, 'body' | 'base'>,
  parsedBody: CreateAssetBody,
  defaultVideoQuality: VideoQuality,
): AssetRequest => {
  const meta = Object.entries(parsedBody.meta ?? {}).filter(([, value]) => value !== '');
  const directives = (parsedBody.directives ?? []).map(({ id }) => id);
  return {
    body,
    base,
    inputsField: parsedBody.input ? 'input' : 'inputs',
    inputs: (parsedBody.inputs ?? parsedBody.input ?? []) as AssetInput[],
    playbackPolicies: (parsedBody.playback_policies ?? parsedBody.playback_policy ?? []) as ('public' | 'signed')[],
    advancedPlaybackPolicies: parsedBody.advanced_playback_policies ?? [],
    staticRenditions: parsedBody.static_renditions ?? [],
    copyOverlays: parsedBody.copy_overlays ?? true,
    settings: {
      ...ownerColumns(parsedBody),
      meta: meta.length > 0 ? Object.fromEntries(meta) : null,
      video_quality: parsedBody.video_quality ?? QUALITY_OF_TIER.get(parsedBody.encoding_tier) ?? defaultVideoQuality,
      max_resolution_tier: parsedBody.max_resolution_tier ?? '1080p',
      mp4_support: parsedBody.mp4_support ?? 'none',
      master_access: parsedBody.master_access ?? 'none',
      normalize_audio: parsedBody.normalize_audio ?? false,
      generate_shots: parsedBody.generate_shots ?? false,
      is_test: parsedBody.test ?? false,
      directives: directives.length > 0 ? directives : null,
    },
  };
};

/**
 * Checks the rules between fields. `settings` is what the caller wrote; paths are relative to it.
 * `firstPosition` is as in `validateInputs`.
 */
export const validateTogether = (
  request: AssetRequest,
  settings: Record<string, unknown>,
  firstPosition: 0 | 1,
  problems: Problems,
): void => {
  const inputsValue = settings[request.inputsField];
  if (Array.isArray(inputsValue) && inputsValue.length === 0)
    problems.add([request.inputsField], 'must contain at least one input');
  validateInputs(request.inputs, firstPosition, [request.inputsField], problems);

  request.advancedPlaybackPolicies.forEach((entry, index) => {
    validateDrm(entry, ['advanced_playback_policies', index], problems);
  });
  const drmAt = request.advancedPlaybackPolicies.findIndex(isDrm);
  if (drmAt >= 0 && request.settings.video_quality === 'basic') {
    problems.addSentence(['advanced_playback_policies', drmAt], DRM_NEEDS_QUALITY);
  }

  if (
    request.settings.mp4_support !== 'none' &&
    !problems.has(['mp4_support']) &&
    request.staticRenditions.length > 0
  ) {
    const names = [problems.nameOf(['mp4_support']), problems.nameOf(['static_renditions'])];
    problems.addSentence(['static_renditions'], `${names.join(' and ')} cannot be used together`);
  }
  const resolutions = request.staticRenditions
    .map(({ resolution }) => resolution)
    .filter((name, index) => name !== undefined && !problems.has(['static_renditions', index, 'resolution']));
  for (const resolution of findRepeated(resolutions)) {
    problems.add(['static_renditions'], `contains a duplicate resolution: ${resolution}`);
  }
};
