import type { Cue } from '../api/tracks';

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** Such as "0:01.500" or "1:02:03.250". */
export const formatCueTime = (seconds: number): string => {
  const ms = Math.round(seconds * 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60];
  const rest = `${two(Math.floor(ms / 1000) % 60)}.${String(ms % 1000).padStart(3, '0')}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
};

/**
 * Seconds of "1:02:03.25", "2:03.25" or "3.25"; undefined for anything else. A comma stands for the
 * point.
 */
export const parseCueTime = (text: string): number | undefined => {
  const [, hours = '0', minutes = '0', seconds] = /^\s*(?:(?:(\d+):)?(\d+):)?(\d+(?:[.,]\d*)?)\s*$/.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  return round(Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds.replace(',', '.')));
};

/** The cue at another time, as long as it was, and within the video. */
export const moveCue = <C extends Cue>(cue: C, bySeconds: number, durationSeconds: number): C => {
  const { start_time: start, end_time: end } = cue;
  const by = Math.max(-start, Math.min(bySeconds, durationSeconds - end));
  return { ...cue, start_time: round(start + by), end_time: round(end + by) };
};

/** A time that is moved, within the video. */
export const moveTime = (seconds: number, bySeconds: number, durationSeconds: number): number =>
  round(Math.max(0, Math.min(seconds + bySeconds, durationSeconds)));

const ENTITY = /&amp;(?!(?:amp|lt|gt|nbsp|lrm|rlm|quot|apos|#\d+|#x[0-9a-f]+);)/gi;
/** The text as a person reads and writes it. The server escapes what is no tag and no entity. */
export const shownText = (text: string): string => text.replace(ENTITY, '&');

/** What keeps a cue from being saved. */
export const problemOf = ({ start_time: start, end_time: end, text }: Cue): string | undefined => {
  if (end <= start) return 'The end must be after the start.';
  return text.trim() === '' ? 'The text is missing. Write one, or delete the cue.' : undefined;
};

export const byTime = (a: Cue, b: Cue): number => a.start_time - b.start_time || a.end_time - b.end_time;
