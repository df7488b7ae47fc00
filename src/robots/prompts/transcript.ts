import type { Line } from '../support/captions.js';
import { asData } from '../support/model-asker.js';

/** Captions as models read them: one line each, with its number or its second. */

export const lineLength = ({ text }: Pick<Line, 'text'>): number => text.length + 12;

export const withSeconds = (lines: readonly Line[]): string =>
  asData(lines.map(({ startSeconds, text }) => `[${startSeconds.toFixed(1)}] ${text}`).join('\n'));

export const withNumbers = (lines: readonly { readonly text: string }[], first = 0): string =>
  asData(lines.map(({ text }, at) => `${first + at}: ${text.replace(/\s*\n\s*/g, ' / ')}`).join('\n'));

type Steering = Readonly<Record<string, unknown>>;

const MAX_HINT = 2000;

/**
 * The caller's preferences, one per line; empty without any. The time range is applied elsewhere.
 */
export const hintsOf = ({ output_steering: steering }: { readonly output_steering?: Steering }): string => {
  const { scope: _, ...hints } = steering ?? {};
  const lines = Object.entries(hints).map(
    ([name, value]) => `- ${name.replaceAll('_', ' ')}: ${JSON.stringify(value)?.slice(0, MAX_HINT)}`,
  );
  return lines.length > 0 ? `\nPreferences:\n${lines.join('\n')}` : '';
};

export const languageRule = (code: string | undefined): string =>
  code === undefined ? 'Write in the language of the captions.' : `Write in the language with the BCP 47 code ${code}.`;
