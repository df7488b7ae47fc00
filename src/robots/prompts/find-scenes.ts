import { type Static, Type } from 'typebox';
import type { WorkflowParams } from '../api/workflows.js';
import type { Prompt } from '../support/model-asker.js';
import { type FramesOf, type ShotLine, shotLength, showShots } from '../support/shot-lines.js';
import { inWindows } from '../support/windows.js';
import type { WorkflowRun } from '../support/workflow-run.js';
import { hintsOf } from './transcript.js';

const Scene = Type.Object({
  first_shot: Type.Integer({ minimum: 0 }),
  title: Type.String({ minLength: 1, maxLength: 200 }),
  audible_narrative: Type.Optional(Type.String({ maxLength: 1000 })),
  notable_audible_concepts: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 })),
  visual_narrative: Type.Optional(Type.String({ maxLength: 1000 })),
});
const schema = Type.Object({ scenes: Type.Array(Scene, { minItems: 1, maxItems: 200 }) });
export type ModelScene = Static<typeof Scene>;

const prompt = {
  name: 'find-scenes',
  version: 2,
  system: `You divide a video into scenes. You are given its shots, numbered, with their times in seconds and what is said in each, and sometimes
frames. A scene is a row of shots about one thing; it begins with a shot (first_shot) and goes on to the next scene.
Titles have two to eight words. The audible narrative is one sentence about what is said; leave it out where nothing is. The
visual narrative is one sentence about what is seen; leave it out without frames.`,
  schema,
} as const satisfies Prompt<typeof schema>;

export const askScenes = async (
  run: WorkflowRun,
  shots: readonly ShotLine[],
  framesOf: FramesOf,
): Promise<ModelScene[]> => {
  const parameters = run.job.parameters as WorkflowParams<'find-scenes'>;
  const { min_scenes: scenes, min_scene_duration_ms: least = 15_000 } = parameters;
  const rule = `A scene lasts at least ${least / 1000} seconds where the content allows it.${scenes === undefined ? '' : ` Find at least ${scenes} scenes in the whole video.`}`;
  const parts = await inWindows(run, 'scenes', shots, shotLength, async (window) => {
    const [first, last] = [window[0]!.number, window.at(-1)!.number];
    const { text, ...images } = await showShots(window, framesOf);
    return run.model.ask(run, {
      prompt,
      text: `${rule}${hintsOf(parameters)}\n\n${text}`,
      ...images,
      check: ({ scenes: modelScenes }) =>
        modelScenes.every(({ first_shot }) => first_shot >= first && first_shot <= last)
          ? undefined
          : `first_shot must be a number of a shot, from ${first} to ${last}.`,
    });
  });
  return parts.flatMap(({ scenes: modelScenes }) => modelScenes);
};
