import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import type { AudioPlan, Plan, VideoPlan } from './plan.js';

/**
 * The part of the plan that defines the segment times: the video, or the audio when there is no
 * video.
 */
export const gridOf = ({ video, audio }: Plan): VideoPlan | AudioPlan | undefined => video ?? audio;

/** Length of one unit of `boundaries` in seconds. */
export const secondsPerUnit = (part: VideoPlan | AudioPlan): number =>
  'timescale' in part ? 1 / part.timescale : AAC_FRAME_SAMPLES / part.sampleRate;

/** The duration of the longest segment. */
export const longestSegmentSeconds = (part: VideoPlan | AudioPlan): number => {
  const { boundaries } = part;
  return boundaries.slice(1).reduce((most, end, k) => Math.max(most, end - boundaries[k]!), 0) * secondsPerUnit(part);
};

/** Start and end of segment `number`, counted from 0; undefined when it does not exist. */
export const segmentSeconds = (
  plan: Plan,
  number: number,
): { readonly startSeconds: number; readonly endSeconds: number } | undefined => {
  const part = gridOf(plan);
  if (!part || number >= part.boundaries.length - 1) return undefined;
  const unit = secondsPerUnit(part);
  return { startSeconds: part.boundaries[number]! * unit, endSeconds: part.boundaries[number + 1]! * unit };
};
