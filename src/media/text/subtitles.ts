/** A text with its times in seconds on the timeline of the asset. */
export interface Cue {
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** WebVTT cue settings such as `align:start line:0`; empty when there are none. */
  readonly settings: string;
  /** WebVTT cue text: escaped, lines separated by `\n`. */
  readonly text: string;
}

export interface Subtitles {
  readonly format: 'srt' | 'webvtt';
  /** Sorted by start time. */
  readonly cues: readonly Cue[];
}

/** One cue per second of the longest asset. No real subtitle file has more. */
const MAX_CUES = 50_000;
const MAX_CUE_CHARACTERS = 4_000;
/** Limit for all cues together: many times the text of the longest film. */
const MAX_CHARACTERS = 4 * 2 ** 20;
/**
 * Hours may be missing, the fraction may be short and a shifted file may begin below zero. Real
 * files have all three.
 */
const TIMING =
  /^\s*(-)?(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})\s*-->\s*(-)?(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})(?:[ \t]+(.*))?$/;
const CUE_NUMBER = /^\s*\d+\s*$/;
const KEPT_TAGS: ReadonlySet<string> = new Set(['b', 'i', 'u']);
const WEBVTT_TAGS: ReadonlySet<string> = new Set(['b', 'i', 'u', 'c', 'v', 'lang', 'ruby', 'rt']);
/**
 * The settings that are kept. `region` is not one of them, because everything before the cues is
 * dropped.
 */
const CUE_SETTING = /^(vertical|line|position|size|align):[\w%.,+-]+$/;

/**
 * Reads SubRip or WebVTT, distinguished by content (W3C WebVTT; SubRip has no standard). Drops cue
 * ids, notes, styles and regions, and cues that have no text or end before they begin. Undefined
 * when no cue is left.
 */
export const parseSubtitles = (text: string): Subtitles | undefined => {
  const lines = linesOf(text.replace(/^\uFEFF/, ''));
  const next = (): string | undefined => lines.next().value;
  let line = next();
  const format = /^WEBVTT(?:[ \t]|$)/.test(line ?? '') ? 'webvtt' : 'srt';
  const cues: Cue[] = [];
  let characters = 0;
  let isNumbered = false;
  while (line !== undefined && cues.length < MAX_CUES && characters < MAX_CHARACTERS) {
    const timing = TIMING.exec(line);
    if (!timing) {
      // Text before the first cue decides: the line before its timing is its number.
      if (line.trim() !== '') isNumbered = CUE_NUMBER.test(line);
      line = next();
      continue;
    }
    const payload = readPayload(next, format, isNumbered);
    line = payload.next;
    const cue = toCue(timing, payload.text, format);
    if (!cue) continue;
    cues.push(cue);
    characters += cue.text.length + cue.settings.length;
  }
  if (cues.length === 0) return undefined;
  return { format, cues: cues.sort((a, b) => a.startSeconds - b.startSeconds || a.endSeconds - b.endSeconds) };
};

/**
 * Reads the text of a cue, up to its end. In WebVTT that is an empty line. SubRip files also have
 * empty lines inside of cues, so there a cue ends where the number and the timing of the next one
 * begin. Returns the line after the text.
 */
const readPayload = (
  next: () => string | undefined,
  format: Subtitles['format'],
  isNumbered: boolean,
): { readonly text: string; readonly next: string | undefined } => {
  const payload: string[] = [];
  let length = 0;
  let last = '';
  let isLastEmpty = true;
  let line = next();
  for (; line !== undefined && !TIMING.test(line); line = next()) {
    isLastEmpty = line.trim() === '';
    if (isLastEmpty && format === 'webvtt') break;
    if (isLastEmpty) continue;
    last = line;
    if (length >= MAX_CUE_CHARACTERS) continue;
    payload.push(line.slice(0, MAX_CUE_CHARACTERS));
    length += line.length + 1;
  }
  const isNumberOfNext =
    format === 'srt' && line !== undefined && CUE_NUMBER.test(last) && (isNumbered || !isLastEmpty);
  if (isNumberOfNext && last === payload.at(-1)) payload.pop();
  return { text: payload.join('\n').slice(0, MAX_CUE_CHARACTERS).replaceAll('\0', '\uFFFD'), next: line };
};

/**
 * Yields one line at a time: a list of ten million empty lines would take many times the memory of
 * the text.
 */
function* linesOf(text: string): Generator<string, undefined> {
  const lineEnd = /\r\n?|\n/g;
  let start = 0;
  for (let match = lineEnd.exec(text); match; match = lineEnd.exec(text)) {
    yield text.slice(start, match.index);
    start = lineEnd.lastIndex;
  }
  yield text.slice(start);
  return undefined;
}

const toCue = (timing: RegExpExecArray, payload: string, format: Subtitles['format']): Cue | undefined => {
  const startSeconds = timing[1] ? 0 : secondsOf(timing.slice(2, 6));
  const endSeconds = timing[6] ? 0 : secondsOf(timing.slice(7, 11));
  const text = cleanText(payload, format);
  if (endSeconds <= startSeconds || text === '') return undefined;
  const settings =
    format === 'webvtt'
      ? (timing[11] ?? '')
          .slice(0, MAX_CUE_CHARACTERS)
          .split(/[ \t]+/)
          .filter((part) => CUE_SETTING.test(part))
      : [];
  return { startSeconds, endSeconds, settings: settings.join(' '), text };
};

const secondsOf = ([hours = '0', minutes = '0', seconds = '0', fraction = '0']: readonly (
  | string
  | undefined
)[]): number => Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + Number(fraction.padEnd(3, '0')) / 1000;

/** Keeps the tags that WebVTT players know and escapes every other `<` and `&`. */
const cleanText = (payload: string, format: Subtitles['format']): string => {
  const tags = format === 'webvtt' ? WEBVTT_TAGS : KEPT_TAGS;
  // `{\an8}` and similar tags set positions in another format, which many SubRip players support.
  const source = format === 'srt' ? payload.replace(/\{\\[^{}\n]*\}/g, '') : payload;
  const cleaned = source.replace(/<[^<>\n]*>|[<>&]/g, (part, at: number) => {
    if (part === '&') return isEntity(source, at) ? '&' : '&amp;';
    if (part === '<') return '&lt;';
    if (part === '>') return '&gt;';
    const tag = /^<(\/?)([a-z]+)(?:[.\s][^>]*)?>$/i.exec(part);
    const name = tag?.[2]?.toLowerCase();
    if (name !== undefined && tags.has(name)) return format === 'srt' ? `<${tag![1]}${name}>` : part;
    if (format === 'webvtt' && /^<(?:\d{2,}:)?\d{2}:\d{2}\.\d{3}>$/.test(part)) return part;
    // Tags of other formats are dropped; `a < b > c` is text.
    return /^<\/?[a-z][^<>]*>$/i.test(part)
      ? ''
      : part.replaceAll('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;');
  });
  return cleaned
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
};

/** SubRip defines no entities, but files converted from WebVTT contain them. */
const isEntity = (text: string, at: number): boolean =>
  /^&(?:amp|lt|gt|nbsp|lrm|rlm|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});/i.test(text.slice(at, at + 12));

/** A WebVTT timestamp, rounded to milliseconds. */
export const timestamp = (seconds: number): string => {
  const ms = Math.round(seconds * 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const rest = `${two(Math.floor(ms / 60_000) % 60)}:${two(Math.floor(ms / 1000) % 60)}.${String(ms % 1000).padStart(3, '0')}`;
  return `${two(Math.floor(ms / 3_600_000))}:${rest}`;
};
