import { Type } from 'typebox';
import type { Cue } from '../../media/text/subtitles.js';
import { plainText } from '../calculations/edit-cues.js';
import type { Prompt } from '../support/model-asker.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { withNumbers } from './transcript.js';

const schema = Type.Object({
  lines: Type.Array(Type.Object({ number: Type.Integer({ minimum: 0 }), text: Type.String({ maxLength: 2000 }) })),
});

const prompt = {
  name: 'translate-captions',
  version: 1,
  system: `You translate captions of a video. Each line has a number, and so has its translation: there are as many as lines, with the same
numbers. A slash between blanks is a line break; keep it where it reads well. Translate as people speak, no longer than needed.`,
  schema,
} as const satisfies Prompt<typeof schema>;

/** Few enough for a small model to keep count. */
const LINES_AT_ONCE = 40;
/** Preceding lines, for context. */
const CONTEXT_LINES = 4;

export const askTranslation = async (
  run: WorkflowRun,
  cues: readonly Cue[],
  { from, to, terms }: { readonly from: string | undefined; readonly to: string; readonly terms: readonly string[] },
): Promise<string[]> => {
  const languages = `Translate${from === undefined ? '' : ` from ${from}`} to ${to} (BCP 47 codes).`;
  const keptTerms = terms.length > 0 ? ` Leave these terms as they are: ${JSON.stringify(terms)}.` : '';
  const lines = cues.map((cue) => ({
    text: cue.text
      .split('\n')
      .map((text) => plainText({ text }))
      .join('\n'),
  }));
  const translated: string[] = [];
  for (let start = 0; start < lines.length; start += LINES_AT_ONCE) {
    const part = lines.slice(start, start + LINES_AT_ONCE);
    const before = lines.slice(Math.max(start - CONTEXT_LINES, 0), start);
    const context = before.length > 0 ? `\n\nThe lines before, not to be translated:\n${withNumbers(before)}` : '';
    const answer = await run.step(`translation-${start}`, () =>
      run.model.ask(run, {
        prompt,
        text: `${languages}${keptTerms}${context}\n\nLines:\n${withNumbers(part, start)}`,
        check: (translation) => missingOf(translation.lines, start, part.length),
      }),
    );
    const byNumber = new Map(answer.lines.map(({ number, text }) => [number, text]));
    translated.push(...part.map((_, at) => byNumber.get(start + at)!.replace(/\s+\/\s+/g, '\n')));
  }
  return translated;
};

const missingOf = (
  lines: readonly { number: number; text: string }[],
  start: number,
  count: number,
): string | undefined => {
  const translatedLines = new Set(lines.filter(({ text }) => text.trim() !== '').map(({ number }) => number));
  const missing = Array.from({ length: count }, (_, at) => start + at).filter((number) => !translatedLines.has(number));
  return missing.length > 0 ? `these line numbers are missing or empty: ${missing.join(', ')}.` : undefined;
};
