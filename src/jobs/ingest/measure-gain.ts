import type { AudioPlan, Plan } from '../../media/plan.js';
import { type PlanInput, planAsset } from '../../media/plan-asset.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { LoudnessResult } from '../../pool/protocol.js';

const TARGET_LUFS = -24;
const MAX_TRUE_PEAK_DB = -2;
/** Below it the loudness measurement found nothing but silence. */
const SILENCE_LUFS = -70;
/** Sound that is so near to the target already stays as it is. */
const NEAR_LU = 0.1;
/** Of sound whose peaks are limited: the gain is raised until it comes so near to the target … */
const TOLERANCE_LU = 0.2;
/** … by so many measurements, and by this much at most: sound that is hardly more than peaks never gets there. */
const MAX_MEASUREMENTS = 6;
const MAX_RAISE_DB = 12;
/** True peak at which limiting begins, less what two ways of measuring may differ by (`engine/limit-peaks.ts`). */
const LIMITED_ABOVE_DB = -4;

/**
 * The constant gain, in dB, that brings a track to -24 LUFS, its peaks limited where they would become too high (EBU R128);
 * undefined for silence and for sound that fits already. `plan` is that of the track without a gain.
 */
export const measureGain = async (
  { pool }: { readonly pool: MediaPool },
  path: string,
  plan: AudioPlan,
  signal: AbortSignal,
): Promise<number | undefined> => {
  const { boundaries, ...audio } = plan;
  const measure = (gainDb?: number): Promise<LoudnessResult> =>
    pool.run(
      {
        kind: 'loudness',
        source: { path, formatName: audio.formatName },
        audio: { ...audio, ...(gainDb !== undefined && { gainDb }) },
        endFrame: boundaries.at(-1)!,
      },
      { priority: mediaPriority.warmUp, signal },
    );
  const { integrated, truePeak } = await measure();
  if (integrated <= SILENCE_LUFS) return undefined;
  const linear = TARGET_LUFS - integrated;
  if (Math.abs(linear) <= NEAR_LU && truePeak <= MAX_TRUE_PEAK_DB) return undefined;
  let gainDb = linear;
  if (truePeak + linear <= LIMITED_ABOVE_DB) return gainDb;
  for (let measured = 1; measured < MAX_MEASUREMENTS; measured += 1) {
    const missing = TARGET_LUFS - (await measure(gainDb)).integrated;
    if (missing <= TOLERANCE_LU || gainDb - linear >= MAX_RAISE_DB) break;
    gainDb = Math.min(gainDb + missing, linear + MAX_RAISE_DB);
  }
  return gainDb;
};

/** A plan whose sound, where that is asked for, has the gain that its part of the file needs. */
export const planNormalized = async (
  deps: { readonly pool: MediaPool },
  input: PlanInput,
  { path, normalize, signal }: { readonly path: string; readonly normalize: boolean; readonly signal: AbortSignal },
): Promise<Plan> => {
  const plan = planAsset(input);
  if (!normalize || !plan.audio) return plan;
  const normalizeGainDb = await measureGain(deps, path, plan.audio, signal);
  return normalizeGainDb === undefined
    ? plan
    : planAsset({ ...input, settings: { ...input.settings, normalizeGainDb } });
};
