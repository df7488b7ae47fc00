import { bucketObjectOf } from '../../lib/bucket-url.js';
import { type Input, OverlaySettings } from '../schemas/input.js';
import { assetIdOfUrl, isWebUrl } from './formats.js';
import { isObject, type Path, type Problems } from './problems.js';

/** How the service uses an input. */
type InputRole = 'main' | 'text' | 'audio' | 'overlay';

type RoleSettings = Pick<Input, 'type' | 'text_type' | 'language_code' | 'overlay_settings'>;

/** @param position the main input is at 0; the first input of a direct upload may be at 1 (`impliesMainInput`) */
export const roleOfInput = (input: RoleSettings, position: number): InputRole => {
  const { type, text_type, language_code, overlay_settings } = input;
  if (position === 0) return 'main';
  if (type === 'text' || type === 'audio') return type;
  const isAudio = [type, text_type, overlay_settings].every((given) => given === undefined) && language_code;
  return isAudio ? 'audio' : 'overlay';
};

/**
 * Removes settings that are ignored: settings of text tracks on other inputs, and overlay settings without a value, which
 * an official SDK sends with every input. An additional input without a `type` keeps its `closed_captions`, which a later
 * check rejects.
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
  const given = Object.entries(settings).filter(([name, value]) => isKnown(name) && value !== '' && value !== null);
  return given.length > 0 ? Object.fromEntries(given) : undefined;
};

/**
 * True when the first input of a direct upload is an additional input, so that the uploaded file comes before it: it has a
 * `url` and is a text track, an audio track or an overlay.
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
  inputs: readonly Input[],
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

const validateEmbedded = ({ embedded_tracks, url }: Input, position: number, at: Path, problems: Problems): void => {
  if (embedded_tracks === undefined) return;
  const name = [...at, 'embedded_tracks'];
  if (position > 0) problems.add(name, 'is only allowed on the first input');
  else if (typeof url === 'string' && assetIdOfUrl(url))
    problems.add(name, 'is not allowed when url refers to an asset');
};

const validateRole = (input: Input, position: number, at: Path, problems: Problems): void => {
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

const MIN_CLIP_SECONDS = 0.5;

const validateClip = (input: Input, position: number, at: Path, problems: Problems): void => {
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

/** Rounds to microseconds, because in floating point 0.7 - 0.2 is less than 0.5. */
export const isShorterThanAClip = (startSeconds: number, endSeconds: number): boolean =>
  Math.round((endSeconds - startSeconds) * 1e6) < MIN_CLIP_SECONDS * 1e6;

export const addClipTooShort = (input: Path, problems: Problems): void =>
  problems.add(input, `clip must be at least ${MIN_CLIP_SECONDS} seconds long`);

/** Names must be unique among text tracks and among audio tracks; the name of the first input applies to its own audio. */
const validateNames = (inputs: readonly Input[], firstPosition: 0 | 1, path: Path, problems: Problems): void => {
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
