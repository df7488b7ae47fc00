import { Type } from 'typebox';
import type { thumbnailScores } from '../../media/image/frame-quality.js';
import type { Plan } from '../../media/plan/plan.js';
import type { WorkflowParams } from '../api/workflows.js';
import { frameUrls } from '../support/frames.js';
import type { Prompt } from '../support/model-asker.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { hintsOf } from './transcript.js';

export interface Thumbnail {
  readonly seconds: number;
  readonly overall: number;
  readonly subscores: ReturnType<typeof thumbnailScores>['subscores'];
  readonly description: string;
  readonly alt_text?: string;
}

const score = () => Type.Number({ minimum: 0, maximum: 1 });
const schema = Type.Object({
  description: Type.String({ maxLength: 1000 }),
  alt_text: Type.String({ maxLength: 300 }),
  overall: score(),
  brand_fit: score(),
  composition: score(),
  contrast_color: score(),
  face_or_action: score(),
  focus: score(),
});

const prompt = {
  name: 'judge-thumbnails',
  version: 1,
  system: `You judge one frame of a video as its thumbnail, each score from 0 to 1: how well it fits a brand without offence (brand_fit), its
composition, its contrast and color, whether a face or an action draws the eye (face_or_action), how sharp it is (focus), and
overall. The description is one sentence about what is seen; the alternative text is what a screen reader should say.`,
  schema,
} as const satisfies Prompt<typeof schema>;

/** Adds the scores of a vision model to measured frames. */
export const rateThumbnails = async (
  run: WorkflowRun,
  plan: Plan,
  candidates: readonly Thumbnail[],
): Promise<Thumbnail[]> => {
  const hints = hintsOf(run.job.parameters as WorkflowParams<'find-best-thumbnails'>);
  const rated: Thumbnail[] = [];
  for (const { seconds } of candidates) {
    const { description, alt_text, overall, ...subscores } = await run.step(
      `judged-${Math.round(seconds * 1000)}`,
      async () =>
        run.model.ask(run, {
          prompt,
          text: `Judge this frame.${hints}`,
          images: await frameUrls(run, plan, [seconds]),
        }),
    );
    rated.push({ seconds, overall, subscores, description, alt_text });
  }
  return rated;
};
