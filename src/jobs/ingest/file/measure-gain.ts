import type { AudioPlan, Gain } from '../../../media/plan/plan.js';
import { mediaPriority } from '../../../pool/media-pool.js';
import type { LoudnessResult } from '../../../pool/protocol.js';
import type { FileContext } from './context.js';

const TARGET_LUFS = -24;
const MAX_TRUE_PEAK_DB = -2;
/** Below it the loudness measurement found nothing but silence. */
const SILENCE_LUFS = -70;
/** Audio that is so near to the target already stays as it is … */
const NEAR_LU = 0.1;
/** … and a gain is good when it brings the audio so near. */
const TOLERANCE_LU = 0.25;
/** Peaks are limited that would come nearer than this to the largest one: coding makes them higher. */
const PEAK_MARGIN_DB = 1;
/** Up to this gain, audio without peaks that need care is what the first measurement says; else it is measured again. */
const TRUSTED_GAIN_DB = 10;
const MAX_MEASUREMENTS = 6;
/** Audio that is hardly more than peaks never gets to the target: the loss of limiting is made up for by this much. */
const MAX_RAISE_DB = 12;

/**
 * The gain that brings a track to -24 LUFS with true peaks of -2 dBTP at most (EBU R128): constant, and only around peaks
 * that it brings too high less. Undefined for silence and for audio that fits already. `plan` is that without a gain.
 */
export const measureGain = async (
  { pool, signal }: FileContext,
  path: string,
  plan: AudioPlan,
): Promise<Gain | undefined> => {
  const { boundaries, ...audio } = plan;
  const measure = (tried: Gain): Promise<LoudnessResult> =>
    pool.run(
      {
        kind: 'loudness',
        source: { path, formatName: audio.formatName },
        audio: { ...audio, ...tried },
        endFrame: boundaries.at(-1)!,
      },
      { priority: mediaPriority.warmUp, signal },
    );
  let gain: Gain = { gainDb: 0 };
  let found = await measure(gain);
  if (found.integrated <= SILENCE_LUFS) return undefined;
  if (Math.abs(TARGET_LUFS - found.integrated) <= NEAR_LU && found.truePeak <= MAX_TRUE_PEAK_DB) return undefined;
  const maxGainDb = TARGET_LUFS - found.integrated + MAX_RAISE_DB;
  for (let measured = 1; measured < MAX_MEASUREMENTS; measured += 1) {
    gain = improve(gain, found, maxGainDb);
    if (gain.peakDb === undefined && Math.abs(gain.gainDb) <= TRUSTED_GAIN_DB) break;
    found = await measure(gain);
    const isGood = Math.abs(TARGET_LUFS - found.integrated) <= TOLERANCE_LU || gain.gainDb >= maxGainDb;
    if (isGood && found.truePeak <= MAX_TRUE_PEAK_DB) break;
  }
  return gain;
};

/** The next try after one that was measured. */
const improve = ({ gainDb, peakDb }: Gain, { integrated, truePeak }: LoudnessResult, maxGainDb: number): Gain => {
  const next = Math.min(gainDb + TARGET_LUFS - integrated, maxGainDb);
  if (peakDb !== undefined) {
    const excessDb = truePeak - MAX_TRUE_PEAK_DB;
    return { gainDb: next, peakDb: excessDb > 0 ? peakDb - excessDb - PEAK_MARGIN_DB / 4 : peakDb };
  }
  const limit = MAX_TRUE_PEAK_DB - PEAK_MARGIN_DB;
  return truePeak + next - gainDb > limit ? { gainDb: next, peakDb: limit } : { gainDb: next };
};
