import type { AssetInput } from '../../domain/requests/asset-request.js';
import {
  addClipTooShort,
  assetIdOfUrl,
  isShorterThanAClip,
  isWebUrl,
  roleOfInput,
} from '../../domain/requests/inputs.js';
import { bucketObjectOf } from '../../lib/bucket-url.js';
import { isObject, type Path, type Problems } from '../../lib/problems.js';
import { OverlaySettings } from '../schemas/input.js';

/**
 * Removes settings that are ignored: settings of text tracks on other inputs, and overlay settings
 * without a value, which an official SDK sends with every input. An additional input without a
 * `type` keeps its `closed_captions`, which a later check rejects.
 */
export const withoutIgnoredSettings = (input: unknown, position: number): unknown => {
  if (!isObject(input)) return input;
  const { closed_captions, passthrough, overlay_settings: overlay, ...rest } = input;
  const isText = input.type === 'text';
  return {
    ...rest,
    ...((isText || (position > 0 && input.type == null)) && { closed_captions }),
    ...(isText && { passthrough }),
    overlay_settings: isObject(overlay) ? withoutEmptyValues(overlay) : overlay,
  };
};

/** Also removes unknown fields. Undefined when no setting is left. */
const withoutEmptyValues = (settings: Record<string, unknown>): Record<string, unknown> | undefined => {
  const isKnown = (name: string) => Object.hasOwn(OverlaySettings.properties, name);
  const setFields = Object.entries(settings).filter(([name, value]) => isKnown(name) && value !== '' && value !== null);
  return setFields.length > 0 ? Object.fromEntries(setFields) : undefined;
};

/**
 * True when the first input of a direct upload is an additional input, so that the uploaded file
 * comes before it: it has a `url` and is a text track, an audio track or an overlay.
 */
export const impliesMainInput = (first: unknown): boolean => {
  const input = withoutIgnoredSettings(first, 1);
  if (!isObject(input) || input.url == null) return false;
  const isText = input.type === 'text' || (input.type == null && input.text_type != null);
  const isAudio = input.type === 'audio' && input.language_code != null;
  return isText || isAudio || isObject(input.overlay_settings);
};

/**
 * Checks the rules between the settings of inputs; the schema has already checked each setting.
 * @param firstPosition 1 when the main input is implied, 0 when it is the first of `inputs`
 */
export const validateInputs = (
  inputs: readonly AssetInput[],
  firstPosition: 0 | 1,
  path: Path,
  problems: Problems,
): void => {
  inputs.forEach((input, index) => {
    const at = [...path, index];
    const position = index + firstPosition;
    validateRole(input, position, at, problems);
    validateClip(input, position, at, problems);
    validateEmbedded(input, position, at, problems);
    const overlayAt = [...at, 'overlay_settings'];
    if (position === 0 && input.overlay_settings && !problems.has(overlayAt)) {
      problems.add(overlayAt, 'is not allowed on the main input');
    }
  });
  validateNames(inputs, firstPosition, path, problems);
};

const validateEmbedded = (
  { embedded_tracks, url }: AssetInput,
  position: number,
  at: Path,
  problems: Problems,
): void => {
  if (embedded_tracks === undefined) return;
  const name = [...at, 'embedded_tracks'];
  if (position > 0) problems.add(name, 'is only allowed on the first input');
  else if (typeof url === 'string' && assetIdOfUrl(url))
    problems.add(name, 'is not allowed when url refers to an asset');
};

const validateRole = (input: AssetInput, position: number, at: Path, problems: Problems): void => {
  const role = roleOfInput(input, position);
  const isText = input.text_type !== undefined || input.closed_captions !== undefined;
  if (role !== 'main' && input.type === undefined && isText) problems.add([...at, 'type'], 'is required');
  if (role === 'main' && input.type === 'text') problems.add([...at, 'type'], 'must be video or audio');
  if (role === 'overlay' && input.type === 'video' && !input.overlay_settings) {
    problems.add([...at, 'type'], 'video is only allowed for the first input');
  }
  if (role === 'text' && input.text_type === undefined) {
    problems.add([...at, 'text_type'], 'is required for text tracks');
  }
  if ((role === 'text' || role === 'audio') && input.language_code === undefined) {
    problems.add([...at, 'language_code'], 'is required');
  }
  if ((role === 'text' || role === 'overlay') && input.generated_subtitles?.length) {
    problems.add([...at, 'generated_subtitles'], 'is only allowed on audio or video inputs');
  }
};

const validateClip = (input: AssetInput, position: number, at: Path, problems: Problems): void => {
  const { url, start_time: start, end_time: end } = input;
  if (typeof url !== 'string') return;
  const isInBucket = bucketObjectOf(url) !== undefined;
  if (isInBucket && position > 0) problems.add([...at, 'url'], 'cannot refer to a bucket');
  if (isWebUrl(url) || isInBucket) {
    for (const name of ['start_time', 'end_time'] as const) {
      if (input[name] !== undefined) problems.add([...at, name], 'is only allowed when url refers to an asset');
    }
  } else if (assetIdOfUrl(url)) {
    if (position > 0) problems.add([...at, 'url'], 'cannot refer to an asset');
    else if (end !== undefined && !problems.has([...at, 'start_time']) && !problems.has([...at, 'end_time'])) {
      if (isShorterThanAClip(start ?? 0, end)) addClipTooShort(at, problems);
    }
  }
};

/**
 * Names must be unique among text tracks and among audio tracks; the name of the first input
 * applies to its own audio.
 */
const validateNames = (inputs: readonly AssetInput[], firstPosition: 0 | 1, path: Path, problems: Problems): void => {
  const names = { text: new Set<string>(), audio: new Set<string>() };
  const claim = (group: 'text' | 'audio', name: string | undefined, at: Path): void => {
    if (!name) return;
    if (names[group].has(name)) problems.add([...at, 'name'], `must be unique among ${group} tracks`);
    names[group].add(name);
  };
  inputs.forEach((input, index) => {
    const at = [...path, index];
    const role = roleOfInput(input, index + firstPosition);
    if (role !== 'overlay') claim(role === 'text' ? 'text' : 'audio', input.name, at);
    input.generated_subtitles?.forEach((subtitles, entry) => {
      claim('text', subtitles.name, [...at, 'generated_subtitles', entry]);
    });
  });
};
