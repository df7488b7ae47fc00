import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import { av1Name } from '../plan/av1-ladder.js';
import type { OriginalRendition, Plan, VideoPlan, VideoRendition } from '../plan/plan.js';
import { type RecordedSession, recordedAt } from './program-times.js';

/**
 * Requests that shape a playlist: query parameters of public playback ids, claims of signed ones.
 */
export interface PlaybackModifiers {
  /** Upper label, in lines: 720 is `720p`. */
  readonly maxResolution?: number;
  readonly minResolution?: number;
  readonly descending: boolean;
  /** Instant clip, seconds on the timeline of the asset. */
  readonly assetStartSeconds?: number;
  readonly assetEndSeconds?: number;
  /** Instant clip of a broadcast, in seconds since 1970. */
  readonly programStartSeconds?: number;
  readonly programEndSeconds?: number;
  readonly defaultSubtitlesLang?: string;
  readonly redundantStreams: boolean;
  readonly rokuTrickPlay: boolean;
  readonly addAudioOnly: boolean;
  /** The only codec to list, where the asset has it. */
  readonly codecs?: CodecFamily;
}

/** What players choose between at their start; many stay with it. */
export type CodecFamily = 'h264' | 'hevc' | 'av1';

/** Segments [first, end) of the grid, which video and audio share. */
export interface SegmentWindow {
  readonly first: number;
  readonly end: number;
}

const RESOLUTION = /^(270|360|480|540|720|1080|1440|2160)p$/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const FAMILIES: readonly unknown[] = ['h264', 'hevc', 'av1'] satisfies CodecFamily[];
const LANGUAGE_TAG = /^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$/;
const TIMES = ['asset_start_time', 'asset_end_time', 'program_start_time', 'program_end_time'] as const;
const FLAGS = ['redundant_streams', 'roku_trick_play', 'exclude_pdt', 'add_audio_only'] as const;

/**
 * Reads the modifiers among `values` (query parameters or claims; unknown names and empty values
 * are ignored, `null` is empty). An invalid value returns `{ invalid }` with the message for the
 * client: `Invalid parameter: <name>`. Only broadcasts have program times. Of one that is `live`,
 * they are returned, and its duration is `Infinity`; of a recording, they become times of the
 * asset.
 */
export const parsePlaybackModifiers = (
  values: Readonly<Record<string, unknown>>,
  durationSeconds: number,
  program?: 'live' | readonly RecordedSession[],
): PlaybackModifiers | { readonly invalid: string } => {
  const bad = (name: string): { invalid: string } => ({ invalid: `Invalid parameter: ${name}` });
  const texts = new Map<string, string>();
  for (const name of KNOWN) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined || value === null || value === '') continue;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return bad(name);
    texts.set(name, String(value));
  }
  const programTimes = texts.has('program_start_time') || texts.has('program_end_time');
  const assetTimes = texts.has('asset_start_time') || texts.has('asset_end_time');
  if (programTimes && assetTimes) return { invalid: 'Invalid parameter' };
  if (programTimes && program === undefined) return bad('program_start_time');

  for (const name of ['max_resolution', 'min_resolution'])
    if (texts.has(name) && !RESOLUTION.test(texts.get(name)!)) return bad(name);
  const lines = (name: string): number | undefined =>
    texts.has(name) ? Number.parseInt(texts.get(name)!, 10) : undefined;
  const maxResolution = lines('max_resolution');
  const minResolution = lines('min_resolution');
  if (minResolution !== undefined && maxResolution !== undefined && minResolution > maxResolution)
    return bad('min_resolution');

  const order = texts.get('rendition_order');
  if (order !== undefined && order !== 'desc') return bad('rendition_order');
  for (const flag of FLAGS) if (texts.has(flag) && !BOOLEANS.has(texts.get(flag)!)) return bad(flag);
  const defaultSubtitlesLang = texts.get('default_subtitles_lang');
  if (defaultSubtitlesLang !== undefined && !LANGUAGE_TAG.test(defaultSubtitlesLang))
    return bad('default_subtitles_lang');

  const codecs = texts.get('codecs');
  if (codecs !== undefined && !FAMILIES.includes(codecs)) return bad('codecs');

  for (const name of TIMES) if (texts.has(name) && !NUMBER.test(texts.get(name)!)) return bad(name);
  const times = TIMES.map((name) => (texts.has(name) ? Number(texts.get(name)) : undefined));
  const [programStartSeconds, programEndSeconds] = program === 'live' ? times.slice(2) : [];
  const recorded = programTimes && Array.isArray(program) ? recordedClip(program, times.slice(2)) : undefined;
  if (recorded && (recorded[0] >= recorded[1] || recorded[0] >= durationSeconds)) return bad('program_start_time');
  const [assetStartSeconds, assetEndSeconds] = recorded ?? times;
  const start = assetStartSeconds ?? 0;
  if (assetTimes && (start < 0 || start >= durationSeconds || (assetEndSeconds ?? durationSeconds) <= start))
    return bad('asset_start_time');
  if (program === 'live' && (programEndSeconds ?? Number.POSITIVE_INFINITY) <= (programStartSeconds ?? 0))
    return bad('program_start_time');

  return {
    ...(maxResolution !== undefined && { maxResolution }),
    ...(minResolution !== undefined && { minResolution }),
    descending: order === 'desc',
    ...(assetStartSeconds !== undefined && { assetStartSeconds }),
    ...(assetEndSeconds !== undefined && { assetEndSeconds: Math.min(assetEndSeconds, durationSeconds) }),
    ...(programStartSeconds !== undefined && { programStartSeconds }),
    ...(programEndSeconds !== undefined && { programEndSeconds }),
    ...(defaultSubtitlesLang !== undefined && { defaultSubtitlesLang }),
    redundantStreams: BOOLEANS.get(texts.get('redundant_streams') ?? '') === true,
    rokuTrickPlay: BOOLEANS.get(texts.get('roku_trick_play') ?? '') === true,
    addAudioOnly: BOOLEANS.get(texts.get('add_audio_only') ?? '') === true,
    ...(codecs !== undefined && { codecs: codecs as CodecFamily }),
  };
};

/** Where sessions join, and so where segments begin, is only known to about a frame. */
const JOIN_SECONDS = 0.05;

/** From where to where a recording has what a clip by the wall clock shows. */
const recordedClip = (
  sessions: readonly RecordedSession[],
  [start = 0, end = Number.POSITIVE_INFINITY]: readonly (number | undefined)[],
): [startSeconds: number, endSeconds: number] => {
  const [startSeconds, endSeconds] = [start, Math.max(start, end)].map((time) => recordedAt(sessions, time));
  return [startSeconds! && startSeconds! + JOIN_SECONDS, Math.max(0, endSeconds! - JOIN_SECONDS)];
};

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

const KNOWN = [
  'max_resolution',
  'min_resolution',
  'rendition_order',
  'default_subtitles_lang',
  'codecs',
  ...TIMES,
  ...FLAGS,
] as const;

const labelLines = (rendition: { readonly name: string }): number => Number.parseInt(rendition.name, 10);

/**
 * The listed variants in order: the start rendition first, then ascending; or highest first. If a
 * filter excludes every variant, the closest one is kept.
 */
export const chooseRenditions = <R extends { readonly name: string }>(
  video: { /** Ascending. */ readonly renditions: readonly R[]; readonly startRendition?: string },
  modifiers: Pick<PlaybackModifiers, 'maxResolution' | 'minResolution' | 'descending'>,
): R[] => {
  const { maxResolution = Number.POSITIVE_INFINITY, minResolution = 0 } = modifiers;
  let chosen: readonly R[] = video.renditions;
  const below = chosen.filter((rendition) => labelLines(rendition) <= maxResolution);
  chosen = below.length > 0 ? below : chosen.slice(0, 1);
  const above = chosen.filter((rendition) => labelLines(rendition) >= minResolution);
  chosen = above.length > 0 ? above : chosen.slice(-1);
  if (modifiers.descending) return [...chosen].reverse();
  const start =
    chosen.find((rendition) => rendition.name === video.startRendition) ?? chosen[Math.floor((chosen.length - 1) / 2)]!;
  return [start, ...chosen.filter((rendition) => rendition !== start)];
};

/** Variants in one codec; players that have started with one of them go up and down among them. */
export interface VariantFamily {
  readonly renditions: readonly (VideoRendition & Partial<OriginalRendition>)[];
}

/**
 * What a playlist lists: the H.264 ladder, and after it that in AV1 when it is listed, whole.
 * hls.js and others never leave the codec that they start with, so a copied original is listed only
 * among renditions of its codec, or when it is asked for (docs/decisions/0088).
 */
export const chooseFamilies = (
  video: VideoPlan,
  modifiers: Pick<PlaybackModifiers, 'maxResolution' | 'minResolution' | 'descending' | 'codecs'>,
  listsAv1: boolean,
): VariantFamily[] => {
  const ladder = chooseRenditions(video, modifiers);
  const { original } = video;
  const hasTop = original !== undefined && ladder.includes(video.renditions.at(-1)!);
  const rungs = listsAv1 ? (video.av1 ?? []) : [];
  const av1 = ladder.flatMap(({ name }) => rungs.filter((rung) => rung.name === av1Name(name)));
  const joins = original?.original.codec === 'av1' && original.original.videoRange === undefined && av1.length > 0;
  const families: Record<CodecFamily, VariantFamily['renditions']> = {
    h264: ladder,
    av1: joins && hasTop ? withOriginal(av1, original) : av1,
    hevc: [],
  };
  if (modifiers.codecs === undefined) return [families.h264, families.av1].flatMap(nonEmpty);
  const { codecs } = modifiers;
  const copied = hasTop && original.original.codec === codecs ? [original] : [];
  const asked = families[codecs].length > 0 ? families[codecs] : copied;
  return nonEmpty(asked.length > 0 ? asked : families.h264);
};

const nonEmpty = (renditions: VariantFamily['renditions']): VariantFamily[] =>
  renditions.length > 0 ? [{ renditions }] : [];

/** The original follows the rung of its size: its rate is higher, and it is never first. */
const withOriginal = (rungs: readonly VideoRendition[], original: OriginalRendition): VideoRendition[] =>
  rungs.flatMap((rung) =>
    rung.width === original.width && rung.height === original.height ? [rung, original] : [rung],
  );

/**
 * The segments of an instant clip, from the one that contains the start to the one that contains
 * the end. Undefined: all.
 */
export const findSegmentWindow = (
  plan: Plan,
  { assetStartSeconds, assetEndSeconds }: Pick<PlaybackModifiers, 'assetStartSeconds' | 'assetEndSeconds'>,
): SegmentWindow | undefined => {
  if (assetStartSeconds === undefined && assetEndSeconds === undefined) return undefined;
  const { starts, count } = segmentStarts(plan);
  const startSeconds = assetStartSeconds ?? 0;
  const endSeconds = assetEndSeconds ?? Number.POSITIVE_INFINITY;
  const after = starts.findIndex((start) => start > startSeconds);
  const first = after === -1 ? count - 1 : Math.max(after - 1, 0);
  const firstAtEnd = starts.findIndex((start) => start >= endSeconds);
  return { first, end: Math.max(firstAtEnd === -1 ? count : firstAtEnd, first + 1) };
};

const segmentStarts = ({ video, audio }: Plan): { starts: number[]; count: number } => {
  const boundaries = video?.boundaries ?? audio?.boundaries.map((frame) => frame * AAC_FRAME_SAMPLES) ?? [];
  const timescale = video?.timescale ?? audio?.sampleRate ?? 1;
  const count = boundaries.length - 1;
  return { starts: boundaries.slice(0, count).map((boundary) => boundary / timescale), count };
};
