import { assetIdOfUrl, isWebUrl } from './formats.js';
import { isObject, type Path, type Problems } from './problems.js';
import type { Input } from './schemas/input.js';

/** What the service does with an input. */
type InputRole = 'main' | 'text' | 'audio' | 'overlay';

export const roleOfInput = (input: Pick<Input, 'type'>, index: number): InputRole => {
  if (index === 0) return 'main';
  return input.type === 'text' || input.type === 'audio' ? input.type : 'overlay';
};

/** Leaves out what is ignored: settings of text tracks on other inputs, overlay settings that are empty text. */
export const withoutIgnoredSettings = (input: unknown): unknown => {
  if (!isObject(input)) return input;
  const { closed_captions, passthrough, overlay_settings: overlay, ...rest } = input;
  return {
    ...rest,
    ...(input.type === 'text' && { closed_captions, passthrough }),
    overlay_settings: isObject(overlay)
      ? Object.fromEntries(Object.entries(overlay).filter(([, value]) => value !== ''))
      : overlay,
  };
};

/** The rules between the settings of inputs; each setting by itself has been checked against the schema. */
export const validateInputs = (inputs: readonly Input[], path: Path, problems: Problems): void => {
  inputs.forEach((input, index) => {
    const at = [...path, index];
    validateRole(input, index, at, problems);
    validateClip(input, index, at, problems);
    if (index === 0 && input.overlay_settings) {
      problems.add([...at, 'overlay_settings'], 'is not allowed on the main input');
    }
  });
  validateNames(inputs, path, problems);
};

const validateRole = (input: Input, index: number, at: Path, problems: Problems): void => {
  const role = roleOfInput(input, index);
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

const validateClip = (input: Input, index: number, at: Path, problems: Problems): void => {
  const { url, start_time: start, end_time: end } = input;
  if (typeof url !== 'string') return;
  if (isWebUrl(url)) {
    for (const name of ['start_time', 'end_time'] as const) {
      if (input[name] !== undefined) problems.add([...at, name], 'is only allowed when url refers to an asset');
    }
  } else if (assetIdOfUrl(url)) {
    if (index > 0) problems.add([...at, 'url'], 'cannot refer to an asset');
    else if (end !== undefined && !problems.has([...at, 'start_time']) && !problems.has([...at, 'end_time'])) {
      if (isShorterThanAClip(start ?? 0, end)) addClipTooShort(at, problems);
    }
  }
};

/** To the microsecond: in floating point 0.7 - 0.2 is less than 0.5. */
export const isShorterThanAClip = (startSeconds: number, endSeconds: number): boolean =>
  Math.round((endSeconds - startSeconds) * 1e6) < MIN_CLIP_SECONDS * 1e6;

export const addClipTooShort = (input: Path, problems: Problems): void =>
  problems.add(input, `clip must be at least ${MIN_CLIP_SECONDS} seconds long`);

/** Names are unique among text tracks and among audio tracks; the first input's names its own sound. */
const validateNames = (inputs: readonly Input[], path: Path, problems: Problems): void => {
  const names = { text: new Set<string>(), audio: new Set<string>() };
  const claim = (group: 'text' | 'audio', name: string | undefined, at: Path): void => {
    if (!name) return;
    if (names[group].has(name)) problems.add([...at, 'name'], `must be unique among ${group} tracks`);
    names[group].add(name);
  };
  inputs.forEach((input, index) => {
    const at = [...path, index];
    const role = roleOfInput(input, index);
    if (role !== 'overlay') claim(role === 'text' ? 'text' : 'audio', input.name, at);
    input.generated_subtitles?.forEach((subtitles, entry) => {
      claim('text', subtitles.name, [...at, 'generated_subtitles', entry]);
    });
  });
};
