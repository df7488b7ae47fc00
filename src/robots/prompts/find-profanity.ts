import { Type } from 'typebox';
import { plainText } from '../calculations/edit-cues.js';
import { asData, type Prompt } from '../support/model-asker.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';

const prompt = {
  name: 'find-profanity',
  version: 1,
  system: `You read captions of a video and list the profane words and phrases in them: swearing, slurs and vulgar
expressions, exactly as they are written. List each once. Ordinary words are never listed. An empty list is a good answer.`,
  schema: Type.Object({ words: Type.Array(Type.String({ maxLength: 100 }), { maxItems: 200 }) }),
} as const satisfies Prompt<ReturnType<typeof Type.Object>>;

/**
 * Finds profane words in caption lines.
 * @throws KinoraError `provider_unavailable`, `provider_failed`
 */
export const findProfanity = async (run: WorkflowRun, texts: readonly string[]): Promise<string[]> => {
  const lines = texts.map((text) => plainText({ text }));
  const windows = await inWindows(
    run,
    'profanity',
    lines,
    (text) => text.length,
    (window) => run.model.ask(run, { prompt, text: asData(window.join('\n')) }),
  );
  const all = lines.join('\n').toLowerCase();
  // Words that are not in the text were made up.
  return windows.flatMap(({ words }) => words).filter((word) => word.trim() !== '' && all.includes(word.toLowerCase()));
};
