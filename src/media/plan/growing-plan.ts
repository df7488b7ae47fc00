import { audioChunkRange } from './audio-chunks.js';
import type { Plan } from './plan.js';
import { makesSameFiles } from './same-files.js';
import { gridOf, longestSegmentSeconds, secondsPerUnit } from './segment-times.js';

/**
 * The boundaries before the end of what has arrived depend on what follows: the last one and the
 * one before it.
 */
const UNCERTAIN_SEGMENTS = 2;
/**
 * The target duration must not change (RFC 8216, 6.2.1), so it allows for the longest segment that
 * may follow.
 */
const TARGET_SECONDS = 8;

/** The plan of the complete file, for players that have playlists of what had arrived of it. */
export const afterGrowth = (plan: Plan): Plan => ({ ...plan, leastTargetSeconds: TARGET_SECONDS });

/**
 * The plan of the segments that can be made from the start of a file, from the plan of that start
 * as if the file ended there. Undefined when there is none yet. Audio is made in chunks, so a
 * segment counts when its chunk is complete.
 */
export const growingPlan = (plan: Plan): Plan | undefined => {
  let segments = (gridOf(plan)?.boundaries.length ?? 0) - 1 - UNCERTAIN_SEGMENTS;
  while (plan.audio && segments > 0) {
    const { first, end } = audioChunkRange(plan.audio, segments - 1);
    if (end === segments) break;
    segments = first;
  }
  return segments > 0 ? firstSegments(plan, segments) : undefined;
};

/** Whether the segments of a plan are also those of a later plan of the same file. */
export const isPrefixOf = (plan: Plan, later: Plan): boolean => {
  if (!plan.grows) return makesSameFiles(plan, later);
  const segments = gridOf(plan)!.boundaries.length - 1;
  const others = (gridOf(later)?.boundaries.length ?? 0) - 1;
  return (
    segments <= others &&
    longestSegmentSeconds(gridOf(later)!) <= TARGET_SECONDS &&
    makesSameFiles(plan, firstSegments(later, segments))
  );
};

const firstSegments = (plan: Plan, count: number): Plan => {
  const { video, audio } = plan;
  const grid = gridOf(plan)!;
  const boundaries = grid.boundaries.slice(0, count + 1);
  const { frameCounts, seekPoints } = video ?? {};
  return {
    ...afterGrowth(plan),
    grows: true,
    durationSeconds: boundaries.at(-1)! * secondsPerUnit(grid),
    ...(video && {
      video: {
        ...video,
        boundaries,
        ...(frameCounts && { frameCounts: frameCounts.slice(0, count) }),
        ...(seekPoints && { seekPoints: seekPoints.slice(0, count) }),
        // Later than all frames of these segments: none is repeated in them.
        lastFrameTicks: boundaries.at(-1)!,
      },
    }),
    ...(audio && { audio: { ...audio, boundaries: audio.boundaries.slice(0, count + 1) } }),
  };
};
