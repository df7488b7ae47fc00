import { createHash } from 'node:crypto';
import { animatedSize, planStill, stillSize, ticksAt } from '../media/image/geometry.js';
import type { AnimatedParameters, StoryboardFormat, ThumbnailParameters } from '../media/image/parameters.js';
import { listTiles, type Storyboard, spriteSheetSize } from '../media/image/storyboard.js';
import type { Size } from '../media/plan/ladder.js';
import type { VideoPlan } from '../media/plan/plan.js';
import { planContactSheet, type Shot } from '../media/shots/contact-sheet.js';
import { SCORE_MARGIN_SECONDS } from '../media/shots/scores.js';
import type {
  AnimatedJob,
  DisplayedAt,
  FrameQualityJob,
  ImageSource,
  ShotScoresJob,
  StillFormat,
  StillJob,
  StoryboardJob,
} from '../pool/protocol.js';
import type { Span } from './source-ranges.js';

/** Pure functions from the plan to the parameters of one media process for one image. */

/** The longer side of the frame copies whose quality is measured. */
const QUALITY_SIDE = 320;
/** Tiles that are closer than this are exact: everything is decoded in one pass. */
const EXACT_BELOW_SECONDS = 0.5;
/** The same limit for the tiles of one shot; it covers shots of up to a hundred seconds. */
const EXACT_SHOT_SECONDS = 2;

/** A job without what the asset as a whole gives it and without its output path. */
type Placeless<J> = Omit<J, 'source' | 'filters' | 'threads' | 'outPath'>;

export interface PlannedImage {
  readonly job: Placeless<StillJob> | Placeless<AnimatedJob> | Placeless<StoryboardJob>;
  /** The size of the finished image. */
  readonly size: Size;
}

const imageSource = (video: VideoPlan): Placeless<ImageSource> => ({
  streamIndex: video.streamIndex,
  timeBase: video.timeBase,
  originTicks: video.originTicks,
  lastFrameTicks: video.lastFrameTicks,
  ...(video.firstFrameTicks !== undefined && { firstFrameTicks: video.firstFrameTicks }),
});

const displayedAt = (video: VideoPlan, seconds: number): DisplayedAt => {
  const { boundaries, seekPoints, timescale, lastFrameTicks } = video;
  const ticks = Math.min(ticksAt(seconds, timescale), lastFrameTicks);
  const after = boundaries.findIndex((boundary) => boundary > ticks);
  const seekPoint = seekPoints?.[after === -1 ? boundaries.length - 2 : after - 1];
  return { ticks, ...(seekPoint && { seekPoint }) };
};

const storedSize = ({ renditions }: VideoPlan): Size => {
  const { width, height } = renditions.at(-1)!;
  return { width, height };
};

export const planThumbnail = (
  video: VideoPlan,
  parameters: ThumbnailParameters,
  defaultSeconds: number,
  format: StillFormat,
): PlannedImage => {
  const layout = planStill(storedSize(video), parameters);
  const at = displayedAt(video, parameters.timeSeconds ?? defaultSeconds);
  return { job: { kind: 'still', ...imageSource(video), ...at, layout, format }, size: stillSize(layout) };
};

export const planAnimated = (
  video: VideoPlan,
  parameters: AnimatedParameters,
  format: AnimatedJob['format'],
): PlannedImage => {
  const { startSeconds, endSeconds, framesPerSecond } = parameters;
  const size = animatedSize(storedSize(video), parameters);
  const start = displayedAt(video, startSeconds);
  const endTicks = Math.round(endSeconds * video.timescale);
  return {
    job: { kind: 'animated', ...imageSource(video), start, endTicks, framesPerSecond, ...size, format },
    size,
  };
};

export const planSpriteSheet = (video: VideoPlan, storyboard: Storyboard, format: StoryboardFormat): PlannedImage => {
  const { window, tile, columns } = storyboard;
  const times = listTiles(storyboard);
  const tiles = times.map(({ start }) => displayedAt(video, window.startSeconds + start));
  const secondsApart = times[0]!.end;
  // When tiles are far apart, key frames are used: two hours need not be decoded for a hundred
  // frames.
  const toleranceTicks = secondsApart < EXACT_BELOW_SECONDS ? 0 : Math.floor((secondsApart / 2) * video.timescale);
  return {
    job: { kind: 'storyboard', ...imageSource(video), tiles, toleranceTicks, columns, ...tile, format },
    size: spriteSheetSize(storyboard),
  };
};

/**
 * The frames of one shot. The first one must not belong to the previous shot; the others may be
 * earlier if that saves decoding.
 */
export const planShotImage = (video: VideoPlan, shot: Shot): PlannedImage => {
  const { times, tile, columns, rows } = planContactSheet(shot, storedSize(video));
  const tiles = times.map((seconds, number) => ({
    ...displayedAt(video, seconds),
    ...(number === 0 && { exact: true as const }),
  }));
  const secondsApart = (shot.endSeconds - shot.startSeconds) / times.length;
  const toleranceTicks = secondsApart < EXACT_SHOT_SECONDS ? 0 : Math.floor((secondsApart / 2) * video.timescale);
  return {
    job: { kind: 'storyboard', ...imageSource(video), tiles, toleranceTicks, columns, ...tile, format: 'webp' },
    size: { width: columns * tile.width, height: rows * tile.height },
  };
};

/**
 * The frames at some moments, or slightly earlier frames if that avoids decoding the frames
 * between.
 */
export const planFrameQuality = (
  video: VideoPlan,
  times: readonly number[],
  toleranceSeconds: number,
): Omit<FrameQualityJob, 'source' | 'filters' | 'threads' | 'overlayPaths'> => {
  const { width, height } = storedSize(video);
  const scale = QUALITY_SIDE / Math.max(width, height);
  const even = (pixels: number): number => Math.max(2 * Math.round((pixels * scale) / 2), 2);
  return {
    kind: 'frame-quality',
    ...imageSource(video),
    frames: times.map((seconds) => displayedAt(video, seconds)),
    toleranceTicks: Math.floor(toleranceSeconds * video.timescale),
    width: even(width),
    height: even(height),
  };
};

/** All of an asset's frames, in parts of the given number of seconds. */
export const planShotScores = (video: VideoPlan, partSeconds: number): Omit<ShotScoresJob, 'source' | 'threads'>[] => {
  const { boundaries, timescale, timeBase, streamIndex, originTicks, filters } = video;
  const lastTicks = boundaries.at(-1)!;
  const partTicks = Math.round(partSeconds * timescale);
  const margin = SCORE_MARGIN_SECONDS * timescale;
  return Array.from({ length: Math.ceil(lastTicks / partTicks) }, (_, number) => {
    const startTicks = number * partTicks;
    const endTicks = Math.min(startTicks + partTicks, lastTicks);
    return {
      kind: 'shot-scores',
      ...{ streamIndex, timeBase, originTicks, filters, startTicks, endTicks },
      from: displayedAt(video, Math.max(startTicks - margin, 0) / timescale),
      untilTicks: Math.min(endTicks + margin, lastTicks),
    };
  });
};

/**
 * The parts of the timeline that the frames of an image are read from; a storyboard's are spread
 * over all of it.
 */
export const displayedSpans = (job: PlannedImage['job'], { timescale }: VideoPlan): Span[] => {
  const streams = { video: true, audio: false };
  if (job.kind === 'storyboard') return [];
  const [from, until] = job.kind === 'still' ? [job.ticks, job.ticks] : [job.start.ticks, job.endTicks];
  return [{ streams, fromSeconds: from / timescale, untilSeconds: until / timescale }];
};

/** Databases return the properties of a stored plan in another order. */
const sortProperties = (_: string, value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** Equal jobs make equal images. */
export const imageFile = ({ job }: PlannedImage): string => {
  const text = JSON.stringify(job, sortProperties);
  return `${job.kind}-${createHash('sha256').update(text).digest('hex').slice(0, 32)}.${job.format}`;
};
