import { type Static, Type } from 'typebox';
import type { Line } from '../support/captions.js';
import type { Prompt } from '../support/model-asker.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { lineLength, withSeconds } from './transcript.js';

const score = () => Type.Number({ minimum: 0, maximum: 1 });
const schema = Type.Object({ sexual: score(), violence: score() });
export type Scores = Static<typeof schema>;

const prompt = {
  name: 'moderate',
  version: 1,
  system: `You rate one frame of a video, or a passage of its captions, for moderation. "sexual" is 0 for nothing of the kind, 0.5 for
suggestive content, 1 for explicit nudity or sexual acts. "violence" is 0 for nothing of the kind, 0.5 for fights or weapons that
are used, 1 for gore or killing. Medical, sporting and artistic contexts count for less.`,
  schema,
} as const satisfies Prompt<typeof schema>;

export const askFrameScores = (run: WorkflowRun, name: string, frame: string): Promise<Scores> =>
  run.step(name, () => run.model.ask(run, { prompt, text: 'Rate this frame.', images: [frame] }));

export const askTextScores = (run: WorkflowRun, lines: readonly Line[]): Promise<Scores[]> =>
  inWindows(run, 'moderation', lines, lineLength, (window) =>
    run.model.ask(run, { prompt, text: `Rate these captions.\n${withSeconds(window)}` }),
  );
