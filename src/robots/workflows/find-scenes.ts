import { askScenes, type ModelScene } from '../prompts/find-scenes.js';
import type { ShotLine } from '../support/shot-lines.js';
import { readShots } from '../support/shots.js';
import type { Workflow } from '../support/workflow-run.js';

const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

/** Scenes are ranges of shots, so they begin at cuts. */
export const findScenes: Workflow = async (run) => {
  const read = await readShots(run);
  if ('waitUntil' in read) return read;
  const scenes = toScenes(await askScenes(run, read.shots, read.framesOf), read.shots);
  return { publish: async () => ({ outputs: { scenes } }) };
};

/** One scene from each first shot on, without gaps. */
const toScenes = (modelScenes: readonly ModelScene[], shots: readonly ShotLine[]): object[] => {
  const byShot = new Map<number, ModelScene>();
  for (const scene of modelScenes) if (!byShot.has(scene.first_shot)) byShot.set(scene.first_shot, scene);
  const firsts = [...byShot.keys()].sort((a, b) => a - b);
  return firsts.map((first, at) => {
    const members = shots.slice(at === 0 ? 0 : first, firsts[at + 1] ?? shots.length);
    const { first_shot: _, title, audible_narrative, visual_narrative, notable_audible_concepts } = byShot.get(first)!;
    const cues = [...new Set(members.flatMap(({ lines }) => lines))];
    const heard = cues.length > 0 && audible_narrative !== undefined;
    return {
      start_ms: milliseconds(members[0]!.startSeconds),
      end_ms: milliseconds(members.at(-1)!.endSeconds),
      title,
      shot_count: members.length,
      cues: cues.map((cue) => ({
        start_ms: milliseconds(cue.startSeconds),
        end_ms: milliseconds(cue.endSeconds),
        text: cue.text,
      })),
      ...(heard && { audible_narrative, notable_audible_concepts: notable_audible_concepts ?? [] }),
      ...(visual_narrative !== undefined && { visual_narrative }),
    };
  });
};
