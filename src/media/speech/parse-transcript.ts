import { plainText } from '../text/plain-text.js';
import { parseSubtitles } from '../text/subtitles.js';
import { languageCodeOf } from './languages.js';
import type { Transcript, Word } from './word.js';

/** Limit for one window. Speech has about 150 words per minute. */
const MAX_WORDS = 2_000;
const MAX_WORD_CHARACTERS = 200;

type Fields = Readonly<Record<string, unknown>>;
interface Timed {
  readonly startMs: number;
  readonly endMs: number;
  readonly text: string;
}

/**
 * Parses the output of a recognizer: JSON of an OpenAI-compatible service or of whisper.cpp, SubRip
 * or WebVTT. Words without their own times share the time of their sentence, or all of
 * `durationMs`. Undefined for other formats.
 */
export const parseTranscript = (text: string, durationMs: number): Transcript | undefined => {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed.startsWith('{')) return parseJson(trimmed, durationMs);
  if (/^WEBVTT[ \t]*(\n|$)/.test(trimmed) && !trimmed.includes('-->')) return { words: [] };
  const subtitles = parseSubtitles(trimmed);
  if (!subtitles) return undefined;
  return {
    words: toWords(
      subtitles.cues.map(({ startSeconds, endSeconds, text }) => ({
        startMs: startSeconds * 1000,
        endMs: endSeconds * 1000,
        text: plainText(text),
      })),
    ),
  };
};

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const listOf = (value: unknown): readonly Fields[] | undefined =>
  Array.isArray(value) ? value.filter(isFields) : undefined;

const parseJson = (text: string, durationMs: number): Transcript | undefined => {
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isFields(response)) return undefined;
  const timed = timedOf(response, durationMs);
  if (!timed) return undefined;
  const result = isFields(response.result) ? response.result : {};
  const named = [response.language, response.detected_language, result.language].find(
    (name) => typeof name === 'string',
  );
  const language = typeof named === 'string' ? languageCodeOf(named) : undefined;
  const confidence = [response.language_probability, response.detected_language_probability].find(
    (value): value is number => typeof value === 'number' && value >= 0 && value <= 1,
  );
  return { ...(language && { language, ...(confidence !== undefined && { confidence }) }), words: toWords(timed) };
};

/** Uses the finest times available: words, segments, or the whole text. */
const timedOf = (response: Fields, durationMs: number): Timed[] | undefined => {
  const words = listOf(response.words);
  if (words?.length) return words.flatMap(timedFields);
  const segments = listOf(response.segments);
  if (segments?.length) {
    return segments.flatMap((segment) => {
      const inside = listOf(segment.words)?.flatMap(timedFields) ?? [];
      return inside.length > 0 ? inside : timedFields(segment);
    });
  }
  const sentences = listOf(response.transcription);
  if (sentences) {
    return sentences.flatMap(({ text, offsets }) =>
      typeof text === 'string' && isFields(offsets) ? timed(offsets.from, offsets.to, text, 1) : [],
    );
  }
  if (typeof response.text === 'string') return [{ startMs: 0, endMs: durationMs, text: response.text }];
  return words || segments ? [] : undefined;
};

const timedFields = ({ start, end, word, text }: Fields): Timed[] => {
  const said = word ?? text;
  return typeof said === 'string' ? timed(start, end, said, 1000) : [];
};

const timed = (start: unknown, end: unknown, text: string, unitMs: number): Timed[] => {
  if (typeof start !== 'number' || typeof end !== 'number' || !Number.isFinite(start + end)) return [];
  return [{ startMs: start * unitMs, endMs: Math.max(start, end) * unitMs, text }];
};

/** Divides the time of several words in proportion to their length. */
const toWords = (timed: readonly Timed[]): Word[] => {
  const words: Word[] = [];
  for (const { startMs, endMs, text } of timed) {
    const parts = text.split(/\s+/).filter((part) => part !== '');
    const total = parts.reduce((sum, part) => sum + part.length, 0);
    let before = 0;
    for (const part of parts) {
      if (words.length === MAX_WORDS) return words;
      const timeAt = (characters: number): number =>
        Math.round(Math.max(0, startMs + ((endMs - startMs) * characters) / total));
      words.push({
        startMs: timeAt(before),
        endMs: timeAt(before + part.length),
        text: part.slice(0, MAX_WORD_CHARACTERS),
      });
      before += part.length;
    }
  }
  return words;
};
