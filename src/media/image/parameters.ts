import { KinoraError } from '../../lib/errors.js';

/**
 * Parameters of image requests: query parameters for public playback ids, claims for signed ones.
 * Claims may be text. Empty values and unknown names are ignored. All readers throw KinoraError
 * `invalid_parameters`.
 */
export type ImageValues = Readonly<Record<string, unknown>>;

export type FitMode = (typeof FIT_MODES)[number];

export interface ThumbnailParameters {
  /** When absent, the time that is set on the asset. */
  readonly timeSeconds?: number;
  /** The newest frame of a broadcast. */
  readonly latest?: true;
  readonly width?: number;
  readonly height?: number;
  readonly fitMode: FitMode;
  /** Clockwise. */
  readonly rotate: 0 | 90 | 180 | 270;
  readonly flipHorizontal: boolean;
  readonly flipVertical: boolean;
}

export interface AnimatedParameters {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly width?: number;
  readonly height?: number;
  readonly framesPerSecond: number;
}

export interface StoryboardWindow {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const STORYBOARD_FORMATS = ['jpg', 'png', 'webp'] as const;
export type StoryboardFormat = (typeof STORYBOARD_FORMATS)[number];

const FIT_MODES = ['preserve', 'stretch', 'crop', 'smartcrop', 'pad'] as const;
const ROTATIONS = [90, 180, 270] as const;
export const MAX_THUMBNAIL_SIDE = 4096;
export const MAX_ANIMATED_SIDE = 640;
const MAX_FRAMES_PER_SECOND = 30;
const DEFAULT_FRAMES_PER_SECOND = 15;
const DEFAULT_ANIMATED_SECONDS = 5;
const MIN_ANIMATED_SECONDS = 0.25;
const MAX_ANIMATED_SECONDS = 10;
/** Differences of decimal fractions are not exact: 10.1 - 0.1 is more than 10. */
const ROUNDING = 1e-9;

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const INTEGER = /^\+?\d{1,9}$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

const reject = (message = 'Invalid parameter'): never => {
  throw new KinoraError('invalid_parameters', { messages: [message] });
};

const textOf = (values: ImageValues, name: string): string | undefined => {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return reject();
  return String(value);
};

/** Seconds, 0 or more. */
const secondsOf = (values: ImageValues, name: string): number | undefined => {
  const text = textOf(values, name);
  if (text === undefined) return undefined;
  const seconds = NUMBER.test(text) ? Number(text) : Number.NaN;
  return seconds >= 0 && Number.isFinite(seconds) ? seconds : reject();
};

const integerOf = (values: ImageValues, name: string, max: number): number | undefined => {
  const text = textOf(values, name);
  if (text === undefined) return undefined;
  const number = INTEGER.test(text) ? Number(text) : 0;
  return number >= 1 && number <= max ? number : reject();
};

const booleanOf = (values: ImageValues, name: string): boolean => {
  const text = textOf(values, name);
  return text === undefined ? false : (BOOLEANS.get(text) ?? reject());
};

const sidesOf = (values: ImageValues, max: number): { width?: number; height?: number } => {
  const width = integerOf(values, 'width', max);
  const height = integerOf(values, 'height', max);
  return { ...(width !== undefined && { width }), ...(height !== undefined && { height }) };
};

/** `isLive` allows what only a broadcast has. */
export const parseThumbnailParameters = (values: ImageValues, isLive = false): ThumbnailParameters => {
  const timeSeconds = secondsOf(values, 'time');
  const fit = textOf(values, 'fit_mode');
  const fitMode = fit === undefined ? 'preserve' : FIT_MODES.find((mode) => mode === fit);
  if (fitMode === undefined) return reject('Unrecognized fit-mode');
  const rotation = textOf(values, 'rotate');
  const rotate = rotation === undefined ? 0 : (ROTATIONS.find((angle) => String(angle) === rotation) ?? reject());
  // `program_time`, which is for live streams only, is ignored.
  const latest = booleanOf(values, 'latest');
  if (latest && (!isLive || timeSeconds !== undefined)) return reject();
  return {
    ...(latest && { latest }),
    ...(timeSeconds !== undefined && { timeSeconds }),
    ...sidesOf(values, MAX_THUMBNAIL_SIDE),
    fitMode,
    rotate,
    flipHorizontal: booleanOf(values, 'flip_h'),
    flipVertical: booleanOf(values, 'flip_v'),
  };
};

/**
 * The end is limited to the end of the asset. Only in that case may the result be shorter than a
 * quarter of a second.
 */
export const parseAnimatedParameters = (values: ImageValues, durationSeconds: number): AnimatedParameters => {
  const startSeconds = secondsOf(values, 'start') ?? 0;
  if (startSeconds >= durationSeconds) return reject();
  const wantedEnd = secondsOf(values, 'end') ?? startSeconds + DEFAULT_ANIMATED_SECONDS;
  const endSeconds = Math.min(wantedEnd, durationSeconds);
  const least = wantedEnd > durationSeconds ? 0 : MIN_ANIMATED_SECONDS;
  const seconds = endSeconds - startSeconds;
  if (seconds < least - ROUNDING || seconds > MAX_ANIMATED_SECONDS + ROUNDING) return reject();
  return {
    startSeconds,
    endSeconds,
    ...sidesOf(values, MAX_ANIMATED_SIDE),
    framesPerSecond: integerOf(values, 'fps', MAX_FRAMES_PER_SECOND) ?? DEFAULT_FRAMES_PER_SECOND,
  };
};

/**
 * The rules of instant clips: the start is within the asset and before the end, which is limited to
 * the end of the asset.
 */
export const parseStoryboardWindow = (values: ImageValues, durationSeconds: number): StoryboardWindow => {
  const startSeconds = secondsOf(values, 'asset_start_time') ?? 0;
  const endSeconds = Math.min(secondsOf(values, 'asset_end_time') ?? durationSeconds, durationSeconds);
  return startSeconds < endSeconds ? { startSeconds, endSeconds } : reject();
};

/** Format of the image that the storyboard text refers to. */
export const parseStoryboardFormat = (value: unknown): StoryboardFormat => {
  if (value === undefined || value === '') return 'jpg';
  return STORYBOARD_FORMATS.find((format) => format === value) ?? reject();
};
