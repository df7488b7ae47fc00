import assert from 'node:assert';
import type { StreamIndex } from '../source/source-index.js';

export interface SampleTimes {
  readonly durationTicks: number;
  readonly compositionOffsetTicks: number;
}

/**
 * Durations and composition offsets of a segment's samples, given in decode order by their
 * presentation times. Each sample lasts as long as its frame is displayed: browsers treat
 * presentation time + duration as the end of a frame. No frame ends after `endTicks`. The first
 * displayed frame starts at `startTicks`, which is also the first decode time.
 *
 * Frames that are displayed before one that precedes them in decode order get negative offsets,
 * which make FFmpeg delay the whole track. So `reorderTicks` is added to every offset, and an edit
 * list compensates. With `reorderTicks` > 0 no offset is negative: if it is too small for a frame,
 * samples before that frame are shortened.
 *
 * Times must be integers, differ from each other, and lie in [startTicks, endTicks).
 */
export const planSampleTimes = (
  presentationTicks: readonly number[] | Float64Array,
  startTicks: number,
  endTicks: number,
  reorderTicks = 0,
): SampleTimes[] => {
  const sorted = Float64Array.from(presentationTicks).sort();
  const first = sorted[0];
  sorted[0] = startTicks;
  const displayed = Array.from(presentationTicks, (ticks) => (ticks === first ? startTicks : ticks));
  const ends = new Map(Array.from(sorted, (ticks, index) => [ticks, sorted[index + 1] ?? endTicks]));
  let nextTicks = startTicks;
  const decodeTicks = displayed.map((ticks) => {
    const now = nextTicks;
    nextTicks += ends.get(ticks)! - ticks;
    return now;
  });
  if (reorderTicks > 0) decodeInTime(decodeTicks, displayed, reorderTicks);
  assert(decodeTicks[0] === startTicks, 'the samples cannot be decoded in time');
  return displayed.map((ticks, index) => {
    const durationTicks = (decodeTicks[index + 1] ?? endTicks) - decodeTicks[index]!;
    assert(durationTicks > 0 && ends.get(ticks)! > ticks, 'frame times must differ and lie inside the segment');
    return { durationTicks, compositionOffsetTicks: ticks - decodeTicks[index]! + reorderTicks };
  });
};

/**
 * Moves decode times earlier where needed, so that each sample is decoded before it is displayed
 * and before the next one.
 */
const decodeInTime = (decodeTicks: number[], displayed: readonly number[], reorderTicks: number): void => {
  let latest = Number.POSITIVE_INFINITY;
  for (let index = decodeTicks.length - 1; index >= 0; index--) {
    latest = Math.min(latest - 1, displayed[index]! + reorderTicks);
    decodeTicks[index] = Math.min(decodeTicks[index]!, latest);
  }
};

/** The smallest `reorderTicks` with which no offset is negative and no sample is shortened. */
export const findReorderTicks = (presentationTicks: readonly number[], startTicks: number, endTicks: number): number =>
  planSampleTimes(presentationTicks, startTicks, endTicks).reduce(
    (most, { compositionOffsetTicks }) => Math.max(most, -compositionOffsetTicks),
    0,
  );

/**
 * The most that any segment of a copy needs, in ticks; its GOPs are closed. The last frame counts
 * with its own duration, not with that of audio after it, which is only known at the end of a file.
 */
export const findCopyReorder = (
  index: StreamIndex,
  planned: readonly number[],
  toTimeline: (pts: number) => number,
): number => {
  const lastPts = index.pts.reduce((latest, pts) => Math.max(latest, pts), Number.NEGATIVE_INFINITY);
  const boundaries = [...planned.slice(0, -1), Math.min(planned.at(-1)!, toTimeline(lastPts + index.lastDuration))];
  const segments: number[][] = boundaries.slice(1).map(() => []);
  let segment = 0;
  for (const pts of index.pts) {
    const ticks = toTimeline(pts);
    while (boundaries[segment + 1]! <= ticks) segment += 1;
    if (ticks >= 0) segments[segment]?.push(ticks);
  }
  return segments.reduce(
    (most, ticks, number) => Math.max(most, findReorderTicks(ticks, boundaries[number]!, boundaries[number + 1]!)),
    0,
  );
};
