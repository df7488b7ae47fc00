import { removePlaybackIdsOf } from '../../domain/playback/playback-ids.js';
import { sampleTimes } from '../../media/image/frame-quality.js';
import type { WorkflowParams } from '../api/workflows.js';
import { askFrameScores, askTextScores, type Scores } from '../prompts/moderate.js';
import { requireTranscript, scopeOf } from '../support/captions.js';
import { frameUrls, openPlan } from '../support/frames.js';
import type { Workflow, WorkflowRun } from '../support/workflow-run.js';

const THRESHOLDS = { sexual: 0.7, violence: 0.8 };
const DEFAULT_INTERVAL_SECONDS = 10;
const MAX_SAMPLES = 1000;

type Scored = Scores & { readonly time?: number };

/** Checks the frames of a video, or the captions of an audio-only asset. */
export const moderate: Workflow = async (run) => {
  const { job, asset } = run;
  const { thresholds, on_flagged: action } = job.parameters as WorkflowParams<'moderate'>;
  const scores = asset.resolution_tier === 'audio-only' ? await rateText(run) : await rateFrames(run);
  const limits = { ...THRESHOLDS, ...thresholds };
  const highest = (name: keyof Scores) => Math.max(...scores.map((score) => score[name]));
  const maxScores = { sexual: highest('sexual'), violence: highest('violence') };
  const exceeds = maxScores.sexual > limits.sexual || maxScores.violence > limits.violence;
  const outputs = { exceeds_threshold: exceeds, max_scores: maxScores, thumbnail_scores: scores };
  return {
    publish: async ({ tx, asset: locked }) => {
      if (!exceeds || !action) return { outputs };
      const deleted = await removePlaybackIdsOf(run.context, tx, locked.id);
      return { outputs: { ...outputs, flagged_action: { action: action.action, deleted_playback_ids: deleted } } };
    },
  };
};

const rateText = async (run: WorkflowRun): Promise<Scored[]> => {
  const { lines } = await requireTranscript(run);
  return askTextScores(run, lines);
};

const rateFrames = async (run: WorkflowRun): Promise<Scored[]> => {
  const { sampling_interval: interval = DEFAULT_INTERVAL_SECONDS, max_samples: most = MAX_SAMPLES } = run.job
    .parameters as WorkflowParams<'moderate'>;
  const { plan } = await openPlan(run);
  const { start, end } = scopeOf(run);
  const count = Math.max(1, Math.min(most, Math.ceil((end - start) / interval)));
  const scores: Scored[] = [];
  for (const time of sampleTimes(start, end, count)) {
    const [frame] = await frameUrls(run, plan, [time]);
    const rated = await askFrameScores(run, `frame-${Math.round(time * 1000)}`, frame!);
    scores.push({ time: Math.round(time * 1000) / 1000, ...rated });
  }
  return scores;
};
