import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import type { AudioPlan, Plan, VideoPlan } from './plan.js';

/** What gives the segments of an asset their times: the video, the audio where there is none. */
export const gridOf = ({ video, audio }: Plan): VideoPlan | AudioPlan | undefined => video ?? audio;

/** Seconds of one unit of `boundaries`. */
export const secondsPerUnit = (part: VideoPlan | AudioPlan): number =>
  'timescale' in part ? 1 / part.timescale : AAC_FRAME_SAMPLES / part.sampleRate;

/** When segment `number`, counted from 0, begins and ends; undefined when there is none. */
export const segmentSeconds = (
  plan: Plan,
  number: number,
): { readonly startSeconds: number; readonly endSeconds: number } | undefined => {
  const part = gridOf(plan);
  if (!part || number >= part.boundaries.length - 1) return undefined;
  const unit = secondsPerUnit(part);
  return { startSeconds: part.boundaries[number]! * unit, endSeconds: part.boundaries[number + 1]! * unit };
};
