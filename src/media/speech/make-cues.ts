import type { Cue } from '../text/subtitles.js';
import type { Word } from './word.js';

/**
 * Limits for readable subtitles. If speech makes it impossible to meet all of them, the last ones
 * are given up first.
 */
const LINE_CHARACTERS = 42;
const MAX_LINES = 2;
const MAX_MS = 7000;
const GAP_MS = 83;
/** No cue spans a longer pause. */
const MAX_PAUSE_MS = 1200;
const MIN_MS = 1000;
const CHARACTERS_PER_SECOND = 20;

/** Costs of flaws, in units of one character above the reading speed. */
const COST = { cue: 6, tooShort: 60, oneWord: 25, openEnd: 16, unevenLine: 0.2 };

const SENTENCE_END = /[.!?…。？！]["'»”’)]*$/;
const CLAUSE_END = /[,;:—–]["'»”’)]*$/;
/** Words that belong to the following text, in the most requested languages. */
const CONJUNCTIONS: ReadonlySet<string> = new Set(
  (
    'and but or nor so yet because although while when where which that who if y e o u pero porque aunque que cuando donde ' +
    'si et mais ou car donc parce quand und aber oder denn weil dass wenn als ma perché quando se che en of maar omdat'
  ).split(' '),
);

/** Words, and for each word the number of characters before it. */
interface Text {
  readonly words: readonly Word[];
  readonly before: Int32Array;
}

/**
 * Divides the words of a track into the best cues by dynamic programming: at most two lines of 42
 * characters, 1 to 7 seconds, no cue across a long pause, ends at punctuation or before a
 * conjunction. Cues do not overlap and end by `durationMs`.
 */
export const makeCues = (spoken: readonly Word[], durationMs: number): Cue[] => {
  const text = withWidths(cleanWords(spoken, durationMs));
  /** best[i]: the lowest cost of cues for the first i words, and the first word of the last cue. */
  const best: { cost: number; from: number }[] = [{ cost: 0, from: 0 }];
  for (let end = 1; end <= text.words.length; end++) {
    let choice = { cost: Number.POSITIVE_INFINITY, from: end - 1 };
    const endCost = endCostOf(text.words, end);
    for (let from = end - 1; from >= 0; from--) {
      const lines = breakLines(text, from, end);
      // Even more words would not fit either.
      if (!lines || (from < end - 1 && !isOneUtterance(text.words, from, end))) break;
      const cost = best[from]!.cost + endCost + lines.cost + costOf(text, from, end);
      if (cost < choice.cost) choice = { cost, from };
    }
    best.push(choice);
  }
  const cues: Cue[] = [];
  for (let end = text.words.length; end > 0; end = best[end]!.from)
    cues.push(toCue(text, best[end]!.from, end, durationMs));
  return cues.reverse();
};

const withWidths = (words: readonly Word[]): Text => {
  const before = new Int32Array(words.length + 1);
  words.forEach(({ text }, at) => {
    before[at + 1] = before[at]! + [...text].length;
  });
  return { words, before };
};

/**
 * Sorts the words and removes overlap. Each word lasts at least a millisecond and fits on a line.
 */
const cleanWords = (spoken: readonly Word[], durationMs: number): Word[] => {
  const parts = spoken
    .map(({ text, ...times }) => ({ ...times, text: text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, '') }))
    .filter(({ text }) => text !== '')
    .sort((a, b) => a.startMs - b.startMs)
    .flatMap(cutLongWord);
  let latestMs = 0;
  const words = parts.map(({ startMs, endMs, text }) => {
    const start = Math.max(latestMs, Math.round(startMs));
    latestMs = Math.max(start + 1, Math.round(endMs));
    return { startMs: start, endMs: latestMs, text };
  });
  // Words after the end are moved before it.
  let nextMs = Math.floor(durationMs);
  for (let at = words.length - 1; at >= 0; at--) {
    const { startMs, endMs, text } = words[at]!;
    if (endMs <= nextMs) break;
    nextMs = Math.min(startMs, nextMs - 1);
    words[at] = { startMs: nextMs, endMs: Math.min(endMs, nextMs + (endMs - startMs)), text };
  }
  return words.filter(({ startMs }) => startMs >= 0);
};

const cutLongWord = ({ startMs, endMs, text }: Word): Word[] => {
  const characters = [...text];
  const count = Math.ceil(characters.length / LINE_CHARACTERS);
  const timeAt = (part: number): number => startMs + ((endMs - startMs) * part) / count;
  return Array.from({ length: count }, (_, part) => ({
    startMs: timeAt(part),
    endMs: timeAt(part + 1),
    text: characters.slice(part * LINE_CHARACTERS, (part + 1) * LINE_CHARACTERS).join(''),
  }));
};

/** Whether no long pause follows the first word and the total time is short enough. */
const isOneUtterance = (words: readonly Word[], from: number, end: number): boolean =>
  words[from + 1]!.startMs - words[from]!.endMs <= MAX_PAUSE_MS &&
  words[end - 1]!.endMs - words[from]!.startMs <= MAX_MS;

const lineWidth = ({ before }: Text, from: number, end: number): number =>
  before[end]! - before[from]! + end - from - 1;

/**
 * Start of the second line (`end` when one line is enough) and its cost; undefined when the words
 * don't fit.
 */
const breakLines = (
  text: Text,
  from: number,
  end: number,
): { readonly at: number; readonly cost: number } | undefined => {
  const total = lineWidth(text, from, end);
  if (total <= LINE_CHARACTERS) return { at: end, cost: 0 };
  if (total > MAX_LINES * LINE_CHARACTERS + 1) return undefined;
  let best: { at: number; cost: number } | undefined;
  for (let at = from + 1; at < end; at++) {
    const first = lineWidth(text, from, at);
    const second = total - first - 1;
    if (first > LINE_CHARACTERS) break;
    if (second > LINE_CHARACTERS) continue;
    const cost = Math.abs(first - second) * COST.unevenLine + breakCost(text.words, at) / 2;
    if (!best || cost < best.cost) best = { at, cost };
  }
  return best;
};

/** The cost of ending a line or a cue before word `at`. */
const breakCost = (words: readonly Word[], at: number): number => {
  const before = words[at - 1]!.text;
  const after = words[at];
  if (!after || SENTENCE_END.test(before)) return 0;
  if (CLAUSE_END.test(before)) return COST.openEnd / 4;
  if (CONJUNCTIONS.has(after.text.toLowerCase())) return COST.openEnd / 2;
  return after.startMs - words[at - 1]!.endMs > MAX_PAUSE_MS / 3 ? COST.openEnd / 2 : COST.openEnd;
};

/** The latest end time of a cue whose last word is the one before `end`. */
const latestEnd = (words: readonly Word[], end: number): number =>
  end < words.length ? words[end]!.startMs - GAP_MS : Number.POSITIVE_INFINITY;

/** The cost of ending a cue before word `end`, independent of its start. */
const endCostOf = (words: readonly Word[], end: number): number => {
  const next = words[end];
  return COST.cue + (next && next.startMs - words[end - 1]!.endMs <= MAX_PAUSE_MS ? breakCost(words, end) : 0);
};

const costOf = (text: Text, from: number, end: number): number => {
  const { words } = text;
  const { startMs } = words[from]!;
  const longestMs = Math.min(latestEnd(words, end) - startMs, MAX_MS);
  const displayedMs = Math.max(longestMs, words[end - 1]!.endMs - startMs);
  const tooFast = Math.max(0, lineWidth(text, from, end) - (displayedMs / 1000) * CHARACTERS_PER_SECOND);
  const tooShort = Math.max(0, MIN_MS - longestMs) / MIN_MS;
  const lonely = end - from === 1 && !SENTENCE_END.test(words[from]!.text) ? COST.oneWord : 0;
  return tooFast + tooShort * COST.tooShort + lonely;
};

const toCue = (text: Text, from: number, end: number, durationMs: number): Cue => {
  const { words } = text;
  const { startMs } = words[from]!;
  const spokenMs = words[end - 1]!.endMs;
  const wantedMs = startMs + Math.max(MIN_MS, (lineWidth(text, from, end) / CHARACTERS_PER_SECOND) * 1000);
  const nextMs = words[end]?.startMs ?? Number.POSITIVE_INFINITY;
  const latestMs = Math.min(startMs + MAX_MS, durationMs, Math.max(nextMs - GAP_MS, Math.min(startMs + 1, nextMs)));
  const endMs = Math.max(startMs + 1, Math.min(latestMs, Math.max(spokenMs, wantedMs)));
  const split = breakLines(text, from, end)?.at ?? end;
  const line = (first: number, last: number): string =>
    words
      .slice(first, last)
      .map((word) => word.text)
      .join(' ');
  const lines = split < end ? [line(from, split), line(split, end)] : [line(from, end)];
  return {
    startSeconds: startMs / 1000,
    endSeconds: endMs / 1000,
    settings: '',
    text: lines.map(escapeText).join('\n'),
  };
};

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
