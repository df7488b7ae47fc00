import type { Word } from './word.js';

/** The words that lie mostly within [fromMs, untilMs), with times relative to `fromMs`. */
export const cutWords = (words: readonly Word[], fromMs: number, untilMs: number): Word[] =>
  words.flatMap(({ startMs, endMs, text }) => {
    const middle = (startMs + endMs) / 2;
    if (middle < fromMs || middle >= untilMs) return [];
    return [
      {
        startMs: Math.round(Math.max(startMs, fromMs) - fromMs),
        endMs: Math.round(Math.min(endMs, untilMs) - fromMs),
        text,
      },
    ];
  });
