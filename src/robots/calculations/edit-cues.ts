import type { Cue } from '../../media/text/subtitles.js';

/** Edits the text of cues. Tags are kept; inserted text is always escaped. */

export interface Replacement {
  readonly find: string;
  readonly replace: string;
  readonly case_sensitive?: boolean;
}

export type CensorMode = 'blank' | 'remove' | 'mask';

export interface CueEdits {
  readonly replacements: readonly Replacement[];
  readonly speakers: readonly Replacement[];
  /** Words and phrases to censor. */
  readonly censored: readonly string[];
  readonly mode: CensorMode;
}

export interface EditedCues {
  readonly cues: readonly Cue[];
  readonly count: number;
}

/** Tags, and the text between them. */
const PARTS = /<[^<>]*>|[^<]+|</g;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

const decode = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|apos|nbsp);/g, (entity, name: string) => ENTITIES[name] ?? entity);
const encode = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('\u00a0', '&nbsp;');

/** The readable text of a cue, without tags. */
export const plainText = ({ text }: Pick<Cue, 'text'>): string =>
  decode(text.replace(/<[^<>]*>/g, ''))
    .replace(/\s+/g, ' ')
    .trim();

/** Escapes text for use in a cue. */
export const cueText = (plain: string): string =>
  plain
    .split('\n')
    .map((line) => encode(line.replace(/\s+/g, ' ').trim()))
    .filter((line) => line !== '')
    .join('\n')
    // A line that looks like a timing would end the cue.
    .replaceAll('--&gt;', '→');

const WORD = /[\p{L}\p{N}_]/u;

/** Matches whole words. A space matches any white space, including line ends. */
const patternOf = (find: string, isCaseSensitive: boolean): RegExp => {
  const trimmed = find.trim();
  const source = trimmed
    .split(/\s+/)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&'))
    .join('\\s+');
  const before = WORD.test([...trimmed][0] ?? '') ? '(?<![\\p{L}\\p{N}_])' : '';
  const after = WORD.test([...trimmed].at(-1) ?? '') ? '(?![\\p{L}\\p{N}_])' : '';
  return new RegExp(`${before}${source}${after}`, isCaseSensitive ? 'gu' : 'giu');
};

type Rule = { readonly pattern: RegExp; readonly write: (match: string) => string };

const censor: Readonly<Record<CensorMode, (match: string) => string>> = {
  blank: (match) => `[${'_'.repeat([...match].length)}]`,
  remove: () => '',
  mask: (match) => match.replace(/\S/gu, '?'),
};

const SPEAKER = /^\[([^[\]\n]+)\]/;

export const editCues = (cues: readonly Cue[], { replacements, speakers, censored, mode }: CueEdits): EditedCues => {
  const rules: Rule[] = [
    ...replacements
      .filter(({ find }) => find.trim() !== '')
      .map(({ find, replace, case_sensitive }) => ({
        pattern: patternOf(find, case_sensitive ?? false),
        write: () => replace,
      })),
    ...censored
      .filter((word) => word.trim() !== '')
      .map((word) => ({ pattern: patternOf(word, false), write: censor[mode] })),
  ];
  let count = 0;
  const applyRules = (text: string): string =>
    rules.reduce(
      (edited, { pattern, write }) =>
        edited.replace(pattern, (match) => {
          count += 1;
          return write(match);
        }),
      text,
    );
  const renameSpeaker = (text: string): string =>
    text.replace(SPEAKER, (label, name: string) => {
      const speaker = speakers.find(({ find }) => find === decode(name));
      if (!speaker) return label;
      count += 1;
      return `[${encode(speaker.replace.replace(/[[\]\n]/g, ''))}]`;
    });
  const edited = cues.map((cue) => ({
    ...cue,
    text: tidy(
      renameSpeaker(cue.text).replace(PARTS, (part) =>
        part.startsWith('<') ? part : encode(applyRules(decode(part))),
      ),
    ),
  }));
  return { cues: edited.filter((cue) => plainText(cue) !== ''), count };
};

/** Closes the gaps left by removed words, and removes empty lines, which would end the cue. */
const tidy = (text: string): string =>
  text
    .replaceAll('-->', '--&gt;')
    .split('\n')
    .map((line) => line.replace(/ {2,}/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
