import { findTranscript, type Line, scopeOf } from '../captions.js';
import { frameUrls } from '../frames.js';
import { askScenes, type ModelScene, type ShotLine } from '../prompts/find-scenes.js';
import { awaitShots } from '../shots.js';
import type { Workflow } from '../workflow.js';
import { openPlan } from './find-best-thumbnails.js';

const milliseconds = (seconds: number): number => Math.round(seconds * 1000);
/** More images than this in one question are too much for most models. */
const MAX_FRAMES = 16;

/** Scenes are rows of shots, so that they begin at cuts. */
export const findScenes: Workflow = async (run) => {
  const shots = await awaitShots(run);
  if ('waitUntil' in shots) return shots;
  const lines = (await findTranscript(run))?.lines ?? [];
  const { start, end } = scopeOf(run);
  const list = shotsWithin(shots.starts, lines, start, end);
  const { plan } = await openPlan(run);
  const framesOf = (part: readonly ShotLine[]) => {
    const every = Math.ceil(part.length / MAX_FRAMES);
    const chosen = part.filter((_, at) => at % every === 0);
    return frameUrls(
      run,
      plan,
      chosen.map(({ startSeconds, endSeconds }) => (startSeconds + endSeconds) / 2),
    );
  };
  const found = await askScenes(run, list, run.model.isConfigured('vision') ? framesOf : undefined);
  const scenes = toScenes(found, list);
  return { publish: async () => ({ outputs: { scenes } }) };
};

const shotsWithin = (starts: readonly number[], lines: readonly Line[], from: number, until: number): ShotLine[] =>
  starts
    .map((start, at) => ({ startSeconds: Math.max(start, from), endSeconds: Math.min(starts[at + 1] ?? until, until) }))
    .filter(({ startSeconds, endSeconds }) => endSeconds > startSeconds)
    .map((shot, number) => ({
      ...shot,
      number,
      lines: lines.filter(
        ({ startSeconds, endSeconds }) => startSeconds < shot.endSeconds && endSeconds > shot.startSeconds,
      ),
    }));

/** One scene from each first shot on, without gaps. */
const toScenes = (found: readonly ModelScene[], shots: readonly ShotLine[]): object[] => {
  const byShot = new Map<number, ModelScene>();
  for (const scene of found) if (!byShot.has(scene.first_shot)) byShot.set(scene.first_shot, scene);
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
