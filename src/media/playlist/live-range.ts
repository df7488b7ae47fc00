import type { LiveSegment, LiveTimes, LiveTrackState } from '../live/live-track.js';
import type { PlaybackModifiers } from './playback-modifiers.js';

/**
 * What of a broadcast a playlist lists: its last half minute, everything, or an instant clip, whose
 * end may not have happened yet.
 */
export type LiveRange = 'window' | 'event' | LiveClip;

/** The segments from the one that contains the start to the one that contains the end. */
export interface LiveClip {
  /** `asset`: seconds since the broadcast began; `program`: seconds since 1970. */
  readonly clock: 'asset' | 'program';
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Segments [first, end) of a track. */
export interface LiveWindow {
  readonly first: number;
  readonly end: number;
  /** No segment follows in this range. */
  readonly isComplete: boolean;
}

const WINDOW_SECONDS = 30;
/** RFC 8216, 6.2.2. */
const LEAST_TARGETS = 3;
const CLIP = /^(asset|program)_(\d+(?:\.\d+)?)_(\d+(?:\.\d+)?)?$/;

/** The clip that a viewer asks for; undefined for all that there is. */
export const clipOf = (modifiers: PlaybackModifiers): LiveClip | undefined => {
  const { assetStartSeconds, assetEndSeconds, programStartSeconds, programEndSeconds } = modifiers;
  const isProgram = programStartSeconds !== undefined || programEndSeconds !== undefined;
  if (!isProgram && assetStartSeconds === undefined && assetEndSeconds === undefined) return undefined;
  return {
    clock: isProgram ? 'program' : 'asset',
    startSeconds: Math.max(programStartSeconds ?? assetStartSeconds ?? 0, 0),
    endSeconds: programEndSeconds ?? assetEndSeconds ?? Number.POSITIVE_INFINITY,
  };
};

/** The clip as part of a URL. */
export const writeClip = ({ clock, startSeconds, endSeconds }: LiveClip): string =>
  `${clock}_${startSeconds.toFixed(3)}_${Number.isFinite(endSeconds) ? endSeconds.toFixed(3) : ''}`;

/** Undefined for another text. */
export const readClip = (text: string): LiveClip | undefined => {
  const [, clock, start, end] = CLIP.exec(text) ?? [];
  if (start === undefined) return undefined;
  const endSeconds = end === undefined ? Number.POSITIVE_INFINITY : Number(end);
  return { clock: clock as LiveClip['clock'], startSeconds: Number(start), endSeconds };
};

/** The segments of a range, without an incomplete one that has no part yet. */
export const findWindow = (
  { segments, info, ended }: LiveTrackState,
  range: LiveRange,
  { targetSeconds }: Pick<LiveTimes, 'targetSeconds'>,
): LiveWindow => {
  const last = segments.at(-1);
  const end = last && !last.complete && last.parts.length === 0 ? segments.length - 1 : segments.length;
  if (range === 'event') return { first: 0, end, isComplete: ended };
  if (range !== 'window') return findClip(segments.slice(0, end), info.timescale, range, ended);
  const enoughTicks = Math.max(WINDOW_SECONDS, LEAST_TARGETS * targetSeconds) * info.timescale;
  let first = end;
  for (let ticks = 0; first > 0 && ticks < enoughTicks; first -= 1) {
    const segment = segments[first - 1]!;
    ticks += segment.complete ? segment.durationTicks : 0;
  }
  return { first, end, isComplete: ended };
};

const findClip = (
  segments: readonly LiveSegment[],
  timescale: number,
  { clock, startSeconds, endSeconds }: LiveClip,
  ended: boolean,
): LiveWindow => {
  const startOf = ({ wallMs, startTicks }: LiveSegment): number =>
    clock === 'program' ? wallMs / 1000 : startTicks / timescale;
  const endOf = (segment: LiveSegment): number => startOf(segment) + segment.durationTicks / timescale;
  const containing = segments.findIndex((segment) => endOf(segment) > startSeconds);
  const first = containing === -1 ? segments.length : containing;
  const behind = segments.findIndex((segment) => startOf(segment) >= endSeconds);
  const end = behind === -1 ? segments.length : Math.max(behind, first);
  const last = segments.at(-1);
  const isOver = behind !== -1 || (last?.complete === true && endOf(last) >= endSeconds);
  return { first, end, isComplete: ended || isOver };
};
