import { type Static, Type } from 'typebox';
import type { Prompt } from '../support/model-asker.js';
import type { WorkflowRun } from '../support/workflow-run.js';

const schema = Type.Object({
  visual_narrative: Type.String({ maxLength: 1000 }),
  notable_visual_concepts: Type.Array(
    Type.Object({
      concept: Type.String({ maxLength: 100 }),
      score: Type.Number({ minimum: 0, maximum: 1 }),
      rationale: Type.String({ maxLength: 500 }),
    }),
    { maxItems: 10 },
  ),
});

const prompt = {
  name: 'describe-frames',
  version: 1,
  system: `You are given frames of one passage of a video, in order. You say in one sentence what happens (visual_narrative), and name what is
notable in the picture, in phrases of two to five words, each with a score from 0 to 1 for how much it matters and a short reason.`,
  schema,
} as const satisfies Prompt<typeof schema>;

export const askFrames = (
  run: WorkflowRun,
  name: string,
  framesOf: () => Promise<string[]>,
): Promise<Static<typeof schema>> =>
  run.step(name, async () => run.model.ask(run, { prompt, text: 'Describe this passage.', images: await framesOf() }));
