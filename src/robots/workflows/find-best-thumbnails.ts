import { writeThumbnailTime } from '../../domain/assets/update-asset.js';
import { KinoraError } from '../../lib/errors.js';
import {
  lookOf,
  pickBest,
  readQualities,
  sampleTimes,
  type TimedQuality,
  thumbnailScores,
} from '../../media/image/frame-quality.js';
import type { Plan, VideoPlan } from '../../media/plan/plan.js';
import { planFrameQuality } from '../../packager/image-jobs.js';
import { OpenFrames } from '../../packager/open-frames.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { WorkflowParams } from '../api/workflows.js';
import { rateThumbnails, type Thumbnail } from '../prompts/judge-thumbnails.js';
import { scopeOf } from '../support/captions.js';
import { openPlan } from '../support/frames.js';
import type { Workflow, WorkflowRun } from '../support/workflow-run.js';

const MAX_SAMPLES = 60;
const SAMPLES_A_SECOND = 2;
const SAMPLES_A_STEP = 12;
const MIN_APART_SECONDS = 1;
/** The number of measured frames that a model sees. */
const LOOKED_AT = 8;

/**
 * Measures frames from the whole asset. If a vision model is configured, it makes the final choice.
 */
export const findBestThumbnails: Workflow = async (run) => {
  const { job, context, model } = run;
  const { max_thumbnails: count = 1, update_asset_thumbnail: updates } =
    job.parameters as WorkflowParams<'find-best-thumbnails'>;
  const { plan, video } = await openPlan(run);
  const { start, end } = scopeOf(run);
  const candidates = await measure(run, plan, video, sampleTimes(start, end, samplesOf(end - start)));
  const apart = Math.min(Math.max((end - start) / (4 * LOOKED_AT), MIN_APART_SECONDS), Math.max(end - start, 0) / 2);
  const measured = pickBest(candidates, model.isConfigured('vision') ? LOOKED_AT : count, apart);
  const rated = model.isConfigured('vision') ? await rateThumbnails(run, plan, measured) : measured;
  const best = pickBest(rated, count, 0);
  return {
    publish: async ({ tx, asset }) => {
      if (updates && best[0]) await writeThumbnailTime(context, tx, asset, best[0].seconds);
      return {
        outputs: {
          best_thumbnails: best.map(({ seconds, overall, subscores, description, alt_text }) => ({
            timestamp_ms: Math.round(seconds * 1000),
            overall: round(overall),
            description,
            ...(alt_text !== undefined && { alt_text }),
            subscores: Object.fromEntries(Object.entries(subscores).map(([name, score]) => [name, round(score)])),
          })),
        },
      };
    },
  };
};

const round = (score: number): number => Math.round(score * 1000) / 1000;

const samplesOf = (seconds: number): number =>
  Math.max(1, Math.min(MAX_SAMPLES, Math.ceil(seconds * SAMPLES_A_SECOND)));

const measure = async (
  run: WorkflowRun,
  plan: Plan,
  video: VideoPlan,
  times: readonly number[],
): Promise<Thumbnail[]> => {
  const qualities: TimedQuality[] = [];
  const tolerance = times.length > 1 ? (times[1]! - times[0]!) / 2 : 0;
  for (let from = 0; from < times.length; from += SAMPLES_A_STEP) {
    const part = planFrameQuality(video, times.slice(from, from + SAMPLES_A_STEP), tolerance);
    qualities.push(...(await run.step(`measures-${from}`, () => measurePart(run, plan, video, part))));
  }
  const look = lookOf(qualities);
  return qualities.map(({ ticks, ...quality }) => ({
    // Rounded up, so that the frame has begun at this time.
    seconds: Math.ceil((ticks / video.timescale) * 1000) / 1000,
    ...thumbnailScores(quality, look),
    description: describe(quality),
  }));
};

const measurePart = async (
  { blobs, pool, asset, signal }: WorkflowRun,
  plan: Plan,
  video: VideoPlan,
  part: ReturnType<typeof planFrameQuality>,
): Promise<readonly TimedQuality[]> => {
  const opened = await OpenFrames.open(blobs, { id: asset.id, plan });
  try {
    const source = { ...opened.source, formatName: video.formatName };
    const { overlayPaths } = opened;
    const job = { ...part, source, filters: video.filters, ...(overlayPaths && { overlayPaths }), threads: 1 };
    const { frames } = await pool.run(job, { priority: mediaPriority.background, signal });
    const qualities = readQualities(frames, part.frames.length);
    if (!qualities) throw new KinoraError('media_failed', { details: { reason: 'no measures of frames' } });
    return qualities;
  } finally {
    await opened.release();
  }
};

const describe = ({ focus, contrast, color, exposure }: Omit<TimedQuality, 'ticks'>): string => {
  const words = [
    focus > 0.5 ? 'sharp' : focus > 0.2 ? 'fairly sharp' : 'soft',
    contrast > 0.6 ? 'high contrast' : contrast > 0.3 ? 'medium contrast' : 'low contrast',
    color > 0.5 ? 'colorful' : color > 0.15 ? 'muted colors' : 'nearly without color',
    ...(exposure < 1 ? ['extreme brightness'] : []),
  ];
  return `Measured frame: ${words.join(', ')}.`;
};
