import type { AudioPlan } from './plan.js';

/** The segments that are made together with segment `number`: [first, end). */
export const audioChunkRange = (audio: AudioPlan, number: number): { first: number; end: number } => {
  const { chunkSegments, firstChunkSegments = chunkSegments, boundaries } = audio;
  const isFirst = number < firstChunkSegments;
  const chunk = isFirst ? 0 : Math.floor((number - firstChunkSegments) / chunkSegments);
  const first = isFirst ? 0 : firstChunkSegments + chunk * chunkSegments;
  const length = isFirst ? firstChunkSegments : chunkSegments;
  return { first, end: Math.min(first + length, boundaries.length - 1) };
};
