import type { Word } from './word.js';

/** One error is allowed per six letters. Words of five letters or fewer must match exactly. */
const LETTERS_OF_A_MISTAKE = 6;

/** A word with surrounding quotation marks and punctuation. */
const SHAPE = /^([^\p{L}\p{N}]*)(.*?)([^\p{L}\p{N}]*)$/su;

const lettersOf = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

interface Phrase {
  readonly parts: readonly string[];
  readonly letters: string;
}

/**
 * Replaces words that are spelled almost like one of the phrases with the phrase. Endings are kept:
 * `harbors` is not a mistake for `harbor`. This works with every recognizer, also those that accept
 * no hints.
 */
export const applyPhrases = (words: readonly Word[], phrases: readonly string[]): Word[] => {
  const spelled = phrases
    .map((phrase) => phrase.trim().split(/\s+/))
    .filter((parts) => parts.every((part) => lettersOf(part) !== ''))
    .map((parts): Phrase => ({ parts, letters: lettersOf(parts.join('')) }));
  // An environment may have tens of thousands of phrases, so exact matches use a map.
  const exact = new Map(spelled.map((phrase) => [phrase.letters, phrase]));
  const similar = new Map<string, Phrase[]>();
  for (const phrase of spelled) {
    const key = `${phrase.parts.length} ${phrase.letters[0]}`;
    const others = similar.get(key);
    if (others) others.push(phrase);
    else similar.set(key, [phrase]);
  }
  const counts = [...new Set(spelled.map(({ parts }) => parts.length))].sort((a, b) => b - a);
  const written: Word[] = [];
  const letters = words.map(({ text }) => lettersOf(text));
  const find = (at: number): Phrase | undefined => {
    for (const count of counts) {
      if (at + count > words.length) continue;
      const heard = letters.slice(at, at + count).join('');
      const phrase = exact.get(heard);
      if (phrase?.parts.length === count) return phrase;
      if (phrase) continue;
      const near = similar.get(`${count} ${heard[0]}`)?.find((one) => isMistakeFor(heard, one.letters));
      if (near) return near;
    }
    return undefined;
  };
  while (written.length < words.length) {
    const at = written.length;
    const match = find(at);
    if (match)
      written.push(...match.parts.map((part, n) => ({ ...words[at + n]!, text: dress(words[at + n]!.text, part) })));
    else written.push(words[at]!);
  }
  return written;
};

const dress = (heard: string, written: string): string => {
  const [, before = '', , after = ''] = SHAPE.exec(heard)!;
  return `${before}${written}${after}`;
};

const isMistakeFor = (heard: string, letters: string): boolean => {
  const most = Math.floor(letters.length / LETTERS_OF_A_MISTAKE);
  if (Math.abs(heard.length - letters.length) > most || heard[0] !== letters[0]) return false;
  return !heard.startsWith(letters) && !letters.startsWith(heard) && distance(heard, letters) <= most;
};

/** Edit distance: the number of letters to add, remove or change. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1)
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (a[i] === b[j] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
};
