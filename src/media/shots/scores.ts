import { changeBetween, isBlank, likeness, mixtureError, type SmallFrame } from './frame-difference.js';

/** Scores for shot detection: one number for each relevant frame, in order of time. */
export interface ShotScores {
  /** Timeline ticks. */
  readonly ticks: readonly number[];
  /** Change from the previous frame; 0 for the first. */
  readonly change: readonly number[];
  /** The part of `change` that lasts. Small for a flash, after which the image is as before. */
  readonly lasting: readonly number[];
  /** If this frame is the middle of a dissolve, the change between its two shots; otherwise 0. */
  readonly dissolve: readonly number[];
  /** 1 for blank frames. */
  readonly blank: readonly number[];
}

export interface TimedFrame {
  readonly ticks: number;
  readonly frame: SmallFrame;
}

/** Seconds before and after a frame that are needed to score it. */
export const SCORE_MARGIN_SECONDS = 1.75;
/** A lasting change below this is never a cut. */
export const LEAST_CUT = 0.08;
/** A cut is compared with the changes within this distance. */
export const NEAR_SECONDS = 0.4;

const FLASH_SECONDS = 0.25;
const MAX_FLASH_FRAMES = 16;
const HALF_DISSOLVE_SECONDS = 0.5;
/** Smaller changes are not examined further. */
const LEAST_CHANGE = 0.03;
const LEAST_DISSOLVE = 0.1;
const MAX_MIXTURE_ERROR = 0.2;
/**
 * Largest change in the half second before or after a dissolve, relative to the change of the
 * dissolve.
 */
const MAX_OUTER_CHANGE = 0.35;
const MAX_DISSOLVE_LIKENESS = 0.6;
const MAX_CUT_LIKENESS = 0.9;
const MIN_CONTRAST_RATIO = 0.35;

interface Part {
  readonly startTicks: number;
  readonly endTicks: number;
  readonly timescale: number;
}

/**
 * Scores the frames of [startTicks, endTicks). The surrounding frames are needed as far as they
 * exist. Only frames near a possible boundary are returned, because hours of video have a million
 * frames.
 */
export const scoreFrames = (frames: readonly TimedFrame[], part: Part): ShotScores => {
  const { startTicks, endTicks, timescale } = part;
  const nearTicks = NEAR_SECONDS * timescale;
  const whole = scoreAll(frames, { startTicks: startTicks - nearTicks, endTicks: endTicks + nearTicks, timescale });
  const interesting = whole.ticks.filter(
    (_, at) => whole.lasting[at]! >= LEAST_CUT || whole.dissolve[at]! > 0 || whole.blank[at] === 1,
  );
  let next = 0;
  const selected: number[] = [];
  whole.ticks.forEach((ticks, at) => {
    while (interesting[next]! < ticks - nearTicks) next += 1;
    if (ticks >= startTicks && ticks < endTicks && interesting[next]! <= ticks + nearTicks) selected.push(at);
  });
  const column = (values: readonly number[]): number[] => selected.map((at) => values[at]!);
  return {
    ticks: column(whole.ticks),
    change: column(whole.change),
    lasting: column(whole.lasting),
    dissolve: column(whole.dissolve),
    blank: column(whole.blank),
  };
};

const scoreAll = (frames: readonly TimedFrame[], { startTicks, endTicks, timescale }: Part): ShotScores => {
  const scores = { ticks: [], change: [], lasting: [], dissolve: [], blank: [] } as Record<keyof ShotScores, number[]>;
  frames.forEach(({ ticks, frame }, at) => {
    if (ticks < startTicks || ticks >= endTicks) return;
    const change = at === 0 ? 0 : changeBetween(frames[at - 1]!.frame, frame);
    scores.ticks.push(ticks);
    scores.change.push(rounded(change));
    scores.lasting.push(rounded(change < LEAST_CHANGE ? 0 : lastingChange(frames, at, FLASH_SECONDS * timescale)));
    scores.dissolve.push(rounded(dissolveAt(frames, at, HALF_DISSOLVE_SECONDS * timescale)));
    scores.blank.push(isBlank(frame) ? 1 : 0);
  });
  return scores;
};

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4;

/**
 * The smallest change between the frame before a position and those after it, or between those
 * before it and the one after.
 */
const lastingChange = (frames: readonly TimedFrame[], at: number, flashTicks: number): number => {
  const [before, after] = [frames[at - 1]!, frames[at]!];
  if (likeness(before.frame, after.frame) > MAX_CUT_LIKENESS) return 0;
  let least = Number.POSITIVE_INFINITY;
  for (let step = 0; step < MAX_FLASH_FRAMES; step += 1) {
    const [later, earlier] = [frames[at + step], frames[at - 1 - step]];
    const isLater = later !== undefined && later.ticks - after.ticks <= flashTicks;
    const isEarlier = earlier !== undefined && before.ticks - earlier.ticks <= flashTicks;
    if (!isLater && !isEarlier) break;
    if (isLater) least = Math.min(least, changeBetween(before.frame, later.frame));
    if (isEarlier) least = Math.min(least, changeBetween(earlier.frame, after.frame));
  }
  return least;
};

/** Whether one of the frames has far less contrast than the other, as in a fade. */
const isFade = ({ deviation: a }: SmallFrame, { deviation: b }: SmallFrame): boolean =>
  Math.min(a, b) < MIN_CONTRAST_RATIO * Math.max(a, b);

/**
 * In the middle of a dissolve, a frame is the average of two different shots, and before and after
 * it there is little change. Continuous movement fails at least one of these tests.
 */
const dissolveAt = (frames: readonly TimedFrame[], at: number, halfTicks: number): number => {
  const [before, after] = [frameFrom(frames, at, -halfTicks), frameFrom(frames, at, halfTicks)];
  if (!before || !after || isFade(before, after)) return 0;
  const change = changeBetween(before, after);
  if (change < LEAST_DISSOLVE || likeness(before, after) > MAX_DISSOLVE_LIKENESS) return 0;
  if (mixtureError(before, frames[at]!.frame, after) > MAX_MIXTURE_ERROR) return 0;
  const isCalm = (outer: SmallFrame | undefined, inner: SmallFrame): boolean =>
    outer === undefined || changeBetween(outer, inner) <= MAX_OUTER_CHANGE * change;
  return isCalm(frameFrom(frames, at, -2 * halfTicks), before) && isCalm(frameFrom(frames, at, 2 * halfTicks), after)
    ? change
    : 0;
};

/** The first frame at least this far from the frame at `at`; undefined when there is none. */
const frameFrom = (frames: readonly TimedFrame[], at: number, distanceTicks: number): SmallFrame | undefined => {
  const step = Math.sign(distanceTicks);
  let other = at;
  while (frames[other] && Math.abs(frames[other]!.ticks - frames[at]!.ticks) < Math.abs(distanceTicks)) other += step;
  return frames[other]?.frame;
};

export const joinScores = (parts: readonly ShotScores[]): ShotScores => ({
  ticks: parts.flatMap(({ ticks }) => ticks),
  change: parts.flatMap(({ change }) => change),
  lasting: parts.flatMap(({ lasting }) => lasting),
  dissolve: parts.flatMap(({ dissolve }) => dissolve),
  blank: parts.flatMap(({ blank }) => blank),
});
