/**
 * Segment boundaries in timeline ticks: about 4 s apart, always at a frame. The first one is about
 * 1 s after the start: a player shows its first frame when it has the whole first segment. The grid
 * is stored with the plan, so published segments keep their boundaries.
 */
export const TARGET_SEGMENT_SECONDS = 4;
const FIRST_SEGMENT_SECONDS = 1;
/**
 * RFC 8216 (4.1) measures the bitrate that `BANDWIDTH` promises over parts of at least half the
 * target duration, so a shorter segment counts with the next one.
 */
export const MIN_PEAK_SECONDS = TARGET_SEGMENT_SECONDS / 2;
const MIN_LAST_SECONDS = 2;
const MIN_SECONDS = 1;
/** The maximum length of a segment whose boundaries are key frames of the source. */
const MAX_COPY_SECONDS = 8;

export interface GridInput {
  /** Ascending times of the frames; the first is 0. */
  readonly frameTicks: Float64Array;
  readonly endTicks: number;
  /** Ticks per second. */
  readonly timescale: number;
}

/** Seconds that boundary `index` should have; 0 is the start. */
const markSeconds = (index: number): number =>
  index === 1 ? FIRST_SEGMENT_SECONDS : TARGET_SEGMENT_SECONDS * Math.max(index - 1, 0);

/** The times at which the last frame is repeated, once a second until the end. */
const repeatTicks = ({ frameTicks, endTicks, timescale }: GridInput): number[] => {
  const last = frameTicks.at(-1)!;
  const count = Math.max(Math.ceil((endTicks - last) / timescale) - 1, 0);
  return Array.from({ length: count }, (_, index) => last + (index + 1) * timescale);
};

/**
 * Each boundary is the first frame (or repeat of the last one) at or after its mark minus half a
 * frame. A boundary that would make a segment shorter than a second, because frames are rare, is
 * left out. A tail shorter than 2 s joins the previous segment.
 */
export const planGrid = (input: GridInput): number[] => {
  const { frameTicks, endTicks, timescale } = input;
  const last = frameTicks.at(-1)!;
  const frames = [...frameTicks, ...repeatTicks(input)];
  const halfFrame = frameTicks.length > 1 ? Math.min(last / (frameTicks.length - 1), timescale) / 2 : 0;
  const boundaries = [0];
  let frame = 0;
  for (let mark = 1; ; mark += 1) {
    const earliest = markSeconds(mark) * timescale - halfFrame;
    while (frame < frames.length && frames[frame]! < earliest) frame += 1;
    const ticks = frames[frame];
    if (ticks === undefined || ticks >= endTicks) break;
    if (ticks - boundaries.at(-1)! >= MIN_SECONDS * timescale) boundaries.push(ticks);
  }
  while (boundaries.length > 1 && endTicks - boundaries.at(-1)! < MIN_LAST_SECONDS * timescale) boundaries.pop();
  return [...boundaries, endTicks];
};

/**
 * Boundaries at the key frame nearest to each mark; undefined when a segment would be shorter than
 * 1 s or longer than 8 s. A short first segment is left out where it doesn't fit.
 */
export const planKeyFrameGrid = (keyTicks: Float64Array, endTicks: number, timescale: number): number[] | undefined =>
  gridFromMark(1, keyTicks, endTicks, timescale) ?? gridFromMark(2, keyTicks, endTicks, timescale);

const gridFromMark = (
  firstMark: number,
  keyTicks: Float64Array,
  endTicks: number,
  timescale: number,
): number[] | undefined => {
  const boundaries = [0];
  let key = 0;
  for (let index = firstMark; ; index += 1) {
    const mark = markSeconds(index) * timescale;
    if (mark >= endTicks) break;
    while (key + 1 < keyTicks.length && Math.abs(keyTicks[key + 1]! - mark) <= Math.abs(keyTicks[key]! - mark))
      key += 1;
    const ticks = keyTicks[key]!;
    if (ticks > boundaries.at(-1)!) boundaries.push(ticks);
  }
  const shortTail = endTicks - boundaries.at(-1)! < MIN_LAST_SECONDS * timescale;
  if (shortTail && boundaries.length > 1 && endTicks - boundaries.at(-2)! <= MAX_COPY_SECONDS * timescale)
    boundaries.pop();
  boundaries.push(endTicks);
  // A source shorter than a second is one segment.
  const single = boundaries.length === 2;
  const fits = boundaries.slice(1).every((end, index) => {
    const seconds = (end - boundaries[index]!) / timescale;
    return seconds <= MAX_COPY_SECONDS && (single || seconds >= MIN_SECONDS);
  });
  return fits ? boundaries : undefined;
};

/** Frames in each segment [boundaries[k], boundaries[k + 1]). */
export const countFrames = (frameTicks: Float64Array, boundaries: readonly number[]): number[] => {
  const counts: number[] = [];
  let frame = 0;
  for (const end of boundaries.slice(1)) {
    const first = frame;
    while (frame < frameTicks.length && frameTicks[frame]! < end) frame += 1;
    counts.push(frame - first);
  }
  return counts;
};
