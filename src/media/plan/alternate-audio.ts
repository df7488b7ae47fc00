import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import type { Rational, SourceFacts } from '../source/source-facts.js';
import type { SourceIndex } from '../source/source-index.js';
import { planAudio } from './audio-plan.js';
import { findStart } from './find-start.js';
import type { AudioPlan, Gain, Plan } from './plan.js';

export interface AlternateAudioInput {
  /** The facts of the audio file. */
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  /** The plan of the track's asset. */
  readonly plan: Plan;
  /** The time in the file that is zero on the asset's timeline; the file's start by default. */
  readonly zeroSeconds?: number;
  readonly gain?: Gain;
}

/**
 * The first audio stream of a file, with the segments of the asset's video (or of its primary
 * audio, if it has no video) and the length of the asset: missing audio is silent, and the rest is
 * left out. Undefined when the file has no audio.
 */
export const planAlternateAudio = ({
  facts,
  index,
  plan,
  zeroSeconds,
  gain,
}: AlternateAudioInput): AudioPlan | undefined => {
  const audio = facts.audio[0];
  const start = findStart({ facts, index });
  if (!audio || !index.audio || index.audio.pts.length === 0 || !start) return undefined;
  return planAudio({
    audio,
    formatName: facts.formatName,
    index: index.audio,
    zero: zeroSeconds === undefined ? start : wholeTicks(zeroSeconds, audio.timeBase),
    endSeconds: plan.durationSeconds,
    videoBoundaries: boundarySeconds(plan),
    ...(gain && { gain }),
  });
};

const wholeTicks = (seconds: number, { num, den }: Rational): Rational => ({
  num: Math.round((seconds * den) / num) * num,
  den,
});

const boundarySeconds = ({ video, audio }: Plan): number[] => {
  if (video) return video.boundaries.map((ticks) => ticks / video.timescale);
  return audio ? audio.boundaries.map((frame) => (frame * AAC_FRAME_SAMPLES) / audio.sampleRate) : [];
};
