import { type Static, Type } from 'typebox';
import type { WorkflowParams } from '../api/workflows.js';
import type { Line } from '../support/captions.js';
import type { Prompt } from '../support/model-asker.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { hintsOf, lineLength, withNumbers } from './transcript.js';

const Moment = Type.Object({
  first_line: Type.Integer({ minimum: 0 }),
  last_line: Type.Integer({ minimum: 0 }),
  title: Type.String({ minLength: 1, maxLength: 200 }),
  overall_score: Type.Number({ minimum: 0, maximum: 1 }),
  audible_narrative: Type.String({ maxLength: 1000 }),
  notable_audible_concepts: Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 }),
  quote: Type.Optional(Type.String({ maxLength: 500 })),
});
const schema = Type.Object({ moments: Type.Array(Moment, { maxItems: 100 }) });
/** Numbers count from the first line of the transcript. */
export type ModelMoment = Static<typeof Moment>;

const prompt = {
  name: 'find-key-moments',
  version: 1,
  system: `You find the key moments of a video from its numbered caption lines: passages that are worth watching on their own. A moment is a
row of lines, from the first to the last. Its score, from 0 to 1, weighs how clear it is without the rest, how moving, how new
and how quotable. Titles have three to eight words. The narrative is one sentence about what is said. Concepts are phrases of two
to five words. The quote is taken word for word from the lines, or left out. Moments do not overlap.`,
  schema,
} as const satisfies Prompt<typeof schema>;

export const durationRule = ({ target_duration_ms: target }: WorkflowParams<'find-key-moments'>): string =>
  target ? ` A moment lasts ${target.min / 1000} to ${target.max / 1000} seconds.` : '';

export const askMoments = async (run: WorkflowRun, lines: readonly Line[], count: number): Promise<ModelMoment[]> => {
  const parameters = run.job.parameters as WorkflowParams<'find-key-moments'>;
  const numbered = lines.map((line, number) => ({ ...line, number }));
  const parts = await inWindows(run, 'moments', numbered, lineLength, (window) => {
    const [first, last] = [window[0]!.number, window.at(-1)!.number];
    const times = `The lines are from second ${window[0]!.startSeconds.toFixed(0)} to ${window.at(-1)!.endSeconds.toFixed(0)}.`;
    return run.model.ask(run, {
      prompt,
      text: `Find at most ${count} moments.${durationRule(parameters)} ${times}${hintsOf(parameters)}\n\nLines:\n${withNumbers(window, first)}`,
      check: ({ moments }) =>
        moments.every(
          ({ first_line, last_line }) => first_line >= first && last_line <= last && first_line <= last_line,
        )
          ? undefined
          : `first_line and last_line must be line numbers from ${first} to ${last}, in order.`,
    });
  });
  return parts.flatMap(({ moments }) => moments);
};
