import type { FrameFilter } from './frame-filter.js';
import type { SeekPoint, VideoReader } from './reader.js';

export interface FrameRange {
  /** Stream ticks; absent: from the start. */
  readonly fromPts?: number;
  /** Stream ticks, exclusive. */
  readonly untilPts: number;
  /** Give the filter one frame before and one after as well: deinterlacing looks to both sides. */
  readonly neighbours: boolean;
  readonly seekPoint?: SeekPoint | undefined;
}

/**
 * Sends the frames of a range through a filter, whose output still has to be cut to the range when there are neighbors.
 * @param timeOf time of a frame for the filter, called once for each in order with the time of the one after it
 * @returns the number of frames of the range
 */
export const filterRange = (
  reader: VideoReader,
  filter: FrameFilter,
  { fromPts, untilPts, neighbours, seekPoint }: FrameRange,
  timeOf: (pts: number, following: number | undefined) => number = (pts) => pts,
): number => {
  if (fromPts !== undefined) reader.seek(fromPts, { wantPrevious: neighbours, seekPoint });
  const before = neighbours && fromPts !== undefined ? reader.previous : undefined;
  if (before) filter.push(before.frame, timeOf(before.pts, reader.peek()?.pts));
  let frames = 0;
  for (let next = reader.peek(); next !== undefined && next.pts < untilPts; next = reader.peek()) {
    reader.take();
    filter.push(next.frame, timeOf(next.pts, reader.peek()?.pts));
    frames += 1;
  }
  const after = neighbours ? reader.peek() : undefined;
  if (after) filter.push(after.frame, timeOf(after.pts, undefined));
  filter.flush();
  return frames;
};
