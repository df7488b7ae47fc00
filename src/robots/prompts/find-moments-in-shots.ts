import { type Static, Type } from 'typebox';
import type { WorkflowParams } from '../api/workflows.js';
import type { Prompt } from '../support/model-asker.js';
import { type FramesOf, type ShotLine, shotLength, showShots } from '../support/shot-lines.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { durationRule } from './find-key-moments.js';
import { hintsOf } from './transcript.js';

const Moment = Type.Object({
  first_shot: Type.Integer({ minimum: 0 }),
  last_shot: Type.Integer({ minimum: 0 }),
  title: Type.String({ minLength: 1, maxLength: 200 }),
  overall_score: Type.Number({ minimum: 0, maximum: 1 }),
  audible_narrative: Type.Optional(Type.String({ maxLength: 1000 })),
  notable_audible_concepts: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 })),
  quote: Type.Optional(Type.String({ maxLength: 500 })),
});
const schema = Type.Object({ moments: Type.Array(Moment, { maxItems: 100 }) });
export type ShotsMoment = Static<typeof Moment>;

const prompt = {
  name: 'find-moments-in-shots',
  version: 1,
  system: `You find the key moments of a video: passages that are worth watching on their own. You are given its shots, numbered, with their
times in seconds and what is said in each, and sometimes frames. A moment is a row of shots, from the first to the last. Its
score, from 0 to 1, weighs how clear it is without the rest, how moving and how new. Titles have three to eight words. The audible
narrative is one sentence about what is said, and audible concepts are phrases of two to five words; leave both out where
nothing is said. The quote is taken word for word from what is said, or left out. Moments do not overlap.`,
  schema,
} as const satisfies Prompt<typeof schema>;

export const askMomentsInShots = async (
  run: WorkflowRun,
  shots: readonly ShotLine[],
  count: number,
  framesOf: FramesOf,
): Promise<ShotsMoment[]> => {
  const parameters = run.job.parameters as WorkflowParams<'find-key-moments'>;
  const parts = await inWindows(run, 'shots-moments', shots, shotLength, async (window) => {
    const [first, last] = [window[0]!.number, window.at(-1)!.number];
    const { text, ...images } = await showShots(window, framesOf);
    return run.model.ask(run, {
      prompt,
      text: `Find at most ${count} moments.${durationRule(parameters)}${hintsOf(parameters)}\n\n${text}`,
      ...images,
      check: ({ moments }) =>
        moments.every(
          ({ first_shot, last_shot }) => first_shot >= first && last_shot <= last && first_shot <= last_shot,
        )
          ? undefined
          : `first_shot and last_shot must be numbers of shots from ${first} to ${last}, in order.`,
    });
  });
  return parts.flatMap(({ moments }) => moments);
};
