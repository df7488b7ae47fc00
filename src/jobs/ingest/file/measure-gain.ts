import type { FileContext } from '../../../early/file/context.js';
import type { AudioPlan, Gain } from '../../../media/plan/plan.js';
import { mediaPriority } from '../../../pool/media-pool.js';
import type { LoudnessResult } from '../../../pool/protocol.js';

const TARGET_LUFS = -24;
const MAX_TRUE_PEAK_DB = -2;
/** At or below this value, the loudness measurement found only silence. */
const SILENCE_LUFS = -70;
/** Audio this close to the target stays unchanged … */
const NEAR_LU = 0.1;
/** … and a gain is accepted when it brings the audio this close. */
const TOLERANCE_LU = 0.25;
/** Peaks within this distance of the limit are reduced too, because encoding raises them. */
const PEAK_MARGIN_DB = 1;
/**
 * Up to this gain, the first measurement is trusted if the audio has no peaks to limit; otherwise
 * it is measured again.
 */
const TRUSTED_GAIN_DB = 10;
const MAX_MEASUREMENTS = 6;
/**
 * Audio that consists mostly of peaks never reaches the target; the gain is raised by at most this
 * much to compensate for limiting.
 */
const MAX_RAISE_DB = 12;

/**
 * Finds the gain that brings a track to -24 LUFS with true peaks of at most -2 dBTP (EBU R128). The
 * gain is constant except around peaks that would be too high. Undefined for silence and for audio
 * that needs no change. `plan` has no gain.
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
  let measured = await measure(gain);
  if (measured.integrated <= SILENCE_LUFS) return undefined;
  if (Math.abs(TARGET_LUFS - measured.integrated) <= NEAR_LU && measured.truePeak <= MAX_TRUE_PEAK_DB) return undefined;
  const maxGainDb = TARGET_LUFS - measured.integrated + MAX_RAISE_DB;
  for (let count = 1; count < MAX_MEASUREMENTS; count += 1) {
    gain = improve(gain, measured, maxGainDb);
    if (gain.peakDb === undefined && Math.abs(gain.gainDb) <= TRUSTED_GAIN_DB) break;
    measured = await measure(gain);
    const isGood = Math.abs(TARGET_LUFS - measured.integrated) <= TOLERANCE_LU || gain.gainDb >= maxGainDb;
    if (isGood && measured.truePeak <= MAX_TRUE_PEAK_DB) break;
  }
  return gain;
};

/** Computes the next gain to try from the measurement of this one. */
const improve = ({ gainDb, peakDb }: Gain, { integrated, truePeak }: LoudnessResult, maxGainDb: number): Gain => {
  const next = Math.min(gainDb + TARGET_LUFS - integrated, maxGainDb);
  if (peakDb !== undefined) {
    const excessDb = truePeak - MAX_TRUE_PEAK_DB;
    return { gainDb: next, peakDb: excessDb > 0 ? peakDb - excessDb - PEAK_MARGIN_DB / 4 : peakDb };
  }
  const limit = MAX_TRUE_PEAK_DB - PEAK_MARGIN_DB;
  return truePeak + next - gainDb > limit ? { gainDb: next, peakDb: limit } : { gainDb: next };
};
