import { type Static, Type } from 'typebox';
import type { WorkflowParams } from '../api/workflows.js';
import type { Line } from '../support/captions.js';
import { asData, type Prompt } from '../support/model-asker.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { hintsOf, languageRule, lineLength, withSeconds } from './transcript.js';

const schema = Type.Object({
  title: Type.String({ minLength: 1, maxLength: 500 }),
  description: Type.String({ minLength: 1, maxLength: 5000 }),
  tags: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 200 }),
});
type Summary = Static<typeof schema>;

const prompt = {
  name: 'summarize',
  version: 1,
  system: `You summarize a video from its captions: a title, a description of two to four sentences and tags. You use only
what the captions say. Titles have no quotation marks and name no channel. Tags are short, in lower case, the most fitting first.`,
  schema,
} as const satisfies Prompt<typeof schema>;

const TONES = {
  neutral: 'factual and plain',
  playful: 'witty and conversational',
  professional: 'like a report for executives',
} as const;

const requestOf = (parameters: WorkflowParams<'summarize'>): string => {
  const { tone = 'neutral', tag_count: tags = 10, title_length: title, description_length: description } = parameters;
  return [
    `The tone is ${TONES[tone as keyof typeof TONES]}. At most ${tags} tags.`,
    ...(title === undefined ? [] : [`The title has at most ${title} words.`]),
    ...(description === undefined ? [] : [`The description has at most ${description} words.`]),
    `${languageRule(parameters.output_language_code)}${hintsOf(parameters)}`,
  ].join(' ');
};

/** For a long transcript, each window is summarized first. */
export const askSummary = async (run: WorkflowRun, lines: readonly Line[]): Promise<Summary> => {
  const request = requestOf(run.job.parameters as WorkflowParams<'summarize'>);
  const parts = await inWindows(run, 'summary', lines, lineLength, (window) =>
    run.model.ask(run, { prompt, text: `${request}\n\nCaptions, with seconds:\n${withSeconds(window)}` }),
  );
  if (parts.length === 1) return parts[0]!;
  const all = parts.map((part, at) => `Part ${at + 1}: ${JSON.stringify(part)}`).join('\n');
  return run.step('summary-of-all', () =>
    run.model.ask(run, {
      prompt,
      text: `${request}\n\nSummaries of the parts of one video, in order:\n${asData(all)}`,
    }),
  );
};
