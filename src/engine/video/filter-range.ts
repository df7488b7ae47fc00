import type { FrameFilter } from './frame-filter.js';
import type { SeekPoint, VideoReader } from './reader.js';

export interface FrameRange {
  /** In stream ticks; absent means from the start. */
  readonly fromPts?: number;
  /** In stream ticks, exclusive. */
  readonly untilPts: number;
  /**
   * Also pass one frame before and one after to the filter: deinterlacing needs neighbors on both
   * sides.
   */
  readonly neighbours: boolean;
  readonly seekPoint?: SeekPoint | undefined;
  /**
   * The time, in stream ticks, from which a frame has to be displayed. If the first frame of the
   * range comes later, because packets before it decode to nothing, the frame before the range is
   * passed with this time.
   */
  readonly displayFromPts?: number | undefined;
}

/**
 * A frame's time for the filter; called once per frame, in order, with the time of the next frame.
 */
type TimeOf = (pts: number, following: number | undefined) => number;

const keepTime: TimeOf = (pts) => pts;

/** Stops after each frame; returns the number of frames in the range. */
const filterFrames = function* (
  reader: VideoReader,
  filter: FrameFilter,
  { fromPts, untilPts, neighbours, seekPoint, displayFromPts = Number.POSITIVE_INFINITY }: FrameRange,
  timeOf: TimeOf,
): Generator<undefined, number> {
  if (fromPts !== undefined) reader.seek(fromPts, { wantPrevious: neighbours, seekPoint });
  const isLate = (reader.peek()?.pts ?? Number.POSITIVE_INFINITY) > displayFromPts;
  if (isLate && fromPts !== undefined) reader.seek(fromPts, { wantPrevious: true, seekPoint });
  const before = (neighbours || isLate) && fromPts !== undefined ? reader.previous : undefined;
  if (before) filter.push(before.frame, timeOf(isLate ? displayFromPts : before.pts, reader.peek()?.pts));
  let frames = 0;
  for (let next = reader.peek(); next !== undefined && next.pts < untilPts; next = reader.peek()) {
    reader.take();
    filter.push(next.frame, timeOf(next.pts, reader.peek()?.pts));
    frames += 1;
    yield;
  }
  const after = neighbours ? reader.peek() : undefined;
  if (after) filter.push(after.frame, timeOf(after.pts, undefined));
  filter.flush();
  return frames;
};

/**
 * Passes the frames of a range through a filter. With neighbors, the caller must cut the output to
 * the range.
 */
export const filterRange = (reader: VideoReader, filter: FrameFilter, range: FrameRange): void => {
  for (const _ of filterFrames(reader, filter, range, keepTime));
};

/**
 * The same for a filter whose frames are encoded meanwhile.
 * @param ready is awaited after each frame
 * @returns the number of frames in the range
 */
export const encodeRange = async (
  reader: VideoReader,
  filter: FrameFilter,
  range: FrameRange,
  ready: () => Promise<void>,
  timeOf: TimeOf = keepTime,
): Promise<number> => {
  const frames = filterFrames(reader, filter, range, timeOf);
  for (;;) {
    const { done, value } = frames.next();
    if (done) return value;
    await ready();
  }
};
