import type { Row } from '../../db/schema.js';
import { type TimedView, viewTimeline } from './view-timeline.js';

/** What happens within this time is one point. */
export const POINT_MS = 5000;

/** What is counted of a view. */
export type MonitoredView = TimedView & Pick<Row<'video_view'>, 'average_bitrate' | 'is_business_exception'>;

/** What happened within one point. */
export interface PointCounts {
  /** Views that played or rebuffered, or whose playback failed. */
  viewers: number;
  /** Views that waited for their first frame. */
  starting: number;
  playingMs: number;
  rebufferingMs: number;
  /** Views whose first frame was displayed. */
  starts: number;
  exits: number;
  startupFailures: number;
  playbackFailures: number;
  /** Playing time with a known bitrate, and the sum of bits per second times milliseconds. */
  bitrateMs: number;
  bitrateSum: number;
}

const noCounts = (): PointCounts => ({
  ...{ viewers: 0, starting: 0, playingMs: 0, rebufferingMs: 0, starts: 0, exits: 0 },
  ...{ startupFailures: 0, playbackFailures: 0, bitrateMs: 0, bitrateSum: 0 },
});

/** The points from `fromMs`, a multiple of `POINT_MS`, up to `toMs` (exclusive). */
export interface PointWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Counts views point by point. */
export class PointSeries {
  readonly points: readonly PointCounts[];
  /** Startup times in milliseconds, by the point of the first frame. */
  readonly startupTimes: readonly number[][];
  readonly #fromMs: number;

  constructor({ fromMs, toMs }: PointWindow) {
    const count = Math.max(Math.ceil((toMs - fromMs) / POINT_MS), 0);
    this.#fromMs = fromMs;
    this.points = Array.from({ length: count }, noCounts);
    this.startupTimes = Array.from({ length: count }, () => []);
  }

  /** @param nowMs the end of the last span of a view that has not ended */
  add(view: MonitoredView, nowMs: number): void {
    const { spans, firstFrameMs, problem, bitrates } = viewTimeline(view, nowMs);
    const watched = new Set<PointCounts>();
    const starting = new Set<PointCounts>();
    for (const { state, fromMs, toMs } of spans) {
      if (state === 'starting') this.#overlap(fromMs, toMs, (point) => starting.add(point));
      if (state !== 'playing' && state !== 'rebuffering') continue;
      this.#overlap(fromMs, toMs, (point, ms) => {
        watched.add(point);
        if (state === 'playing') point.playingMs += ms;
        else point.rebufferingMs += ms;
      });
      if (state === 'playing') this.#addBitrates(fromMs, toMs, bitrates, view.average_bitrate);
    }
    const start = firstFrameMs === undefined ? undefined : this.#at(firstFrameMs);
    if (start !== undefined) {
      this.points[start]!.starts += 1;
      if (view.video_startup_time !== null) this.startupTimes[start]!.push(view.video_startup_time);
    }
    const wrong = problem && this.#at(problem.atMs);
    if (wrong !== undefined) {
      const point = this.points[wrong]!;
      if (problem!.kind === 'exit') point.exits += 1;
      // Metrics count a failure that the page calls a business exception separately, too.
      else if (!view.is_business_exception) {
        if (problem!.kind === 'startup failure') point.startupFailures += 1;
        else {
          point.playbackFailures += 1;
          watched.add(point);
        }
      }
    }
    for (const point of watched) point.viewers += 1;
    for (const point of starting) point.starting += 1;
  }

  #at(atMs: number): number | undefined {
    const at = Math.floor((atMs - this.#fromMs) / POINT_MS);
    return at >= 0 && at < this.points.length ? at : undefined;
  }

  /** Calls `each` with the points that a span overlaps, and for how long. */
  #overlap(fromMs: number, toMs: number, each: (point: PointCounts, ms: number) => void): void {
    const first = Math.max(Math.floor((fromMs - this.#fromMs) / POINT_MS), 0);
    const end = Math.min(Math.ceil((toMs - this.#fromMs) / POINT_MS), this.points.length);
    for (let at = first; at < end; at += 1) {
      const startMs = this.#fromMs + at * POINT_MS;
      const ms = Math.min(toMs, startMs + POINT_MS) - Math.max(fromMs, startMs);
      if (ms > 0) each(this.points[at]!, ms);
    }
  }

  /** The bitrate of each moment is that of the last change before it, or else that of the view. */
  #addBitrates(
    fromMs: number,
    toMs: number,
    changes: readonly (readonly [number, number])[],
    average: number | null,
  ): void {
    const bounds = [fromMs, ...changes.map(([atMs]) => atMs).filter((atMs) => atMs > fromMs && atMs < toMs), toMs];
    for (const [index, startMs] of bounds.slice(0, -1).entries()) {
      const bitrate = changes.findLast(([atMs]) => atMs <= startMs)?.[1] ?? average;
      if (bitrate === null) continue;
      this.#overlap(startMs, bounds[index + 1]!, (point, ms) => {
        point.bitrateMs += ms;
        point.bitrateSum += bitrate * ms;
      });
    }
  }
}

interface MonitoringMetric {
  readonly displayName: string;
  /** The value is `part` divided by `whole`; null when `whole` is 0. */
  readonly part: (counts: PointCounts) => number;
  readonly whole: (counts: PointCounts) => number;
  /** Views that the value is about. */
  readonly views: (counts: PointCounts) => number;
  /** Whether a larger value is worse (1) or better (-1), or neither. */
  readonly worse: 1 | -1 | 0;
}

const viewers = (counts: PointCounts): number => counts.viewers;
const attempts = ({ starts, exits, startupFailures }: PointCounts): number => starts + exits + startupFailures;

/** By the names in paths. Percentages are shares: 0.5 is 50 %. */
export const monitoringMetrics = {
  'current-concurrent-viewers': {
    displayName: 'Current Concurrent Viewers (CCV)',
    part: viewers,
    whole: () => 1,
    views: viewers,
    worse: 0,
  },
  'current-rebuffering-percentage': {
    displayName: 'Current Rebuffering Percentage',
    part: ({ rebufferingMs }) => rebufferingMs,
    whole: ({ playingMs, rebufferingMs }) => playingMs + rebufferingMs,
    views: viewers,
    worse: 1,
  },
  'exits-before-video-start': {
    displayName: 'Current Exits Before Video Start (EBVS)',
    part: ({ exits }) => exits,
    whole: attempts,
    views: attempts,
    worse: 1,
  },
  'playback-failure-percentage': {
    displayName: 'Current Playback Failure Percentage',
    part: ({ playbackFailures }) => playbackFailures,
    whole: viewers,
    views: viewers,
    worse: 1,
  },
  'current-average-bitrate': {
    displayName: 'Current Average Bitrate',
    part: ({ bitrateSum }) => bitrateSum,
    whole: ({ bitrateMs }) => bitrateMs,
    views: viewers,
    worse: -1,
  },
  'video-startup-failure-percentage': {
    displayName: 'Current Video Startup Failure Percentage',
    part: ({ startupFailures }) => startupFailures,
    whole: attempts,
    views: attempts,
    worse: 1,
  },
} as const satisfies Record<string, MonitoringMetric>;
export type MonitoringMetricId = keyof typeof monitoringMetrics;

/** Null when nothing happened that the metric is about. */
export const metricValue = (id: MonitoringMetricId, counts: PointCounts): number | null => {
  const { part, whole }: MonitoringMetric = monitoringMetrics[id];
  return whole(counts) > 0 ? part(counts) / whole(counts) : null;
};

export const sumCounts = (all: Iterable<PointCounts>): PointCounts => {
  const sum = noCounts();
  for (const counts of all) for (const name of Object.keys(sum) as (keyof PointCounts)[]) sum[name] += counts[name];
  return sum;
};

/** How much worse a group is than all views, times its views; below 0 when it is better. */
export const negativeImpact = (id: MonitoringMetricId, group: PointCounts, all: PointCounts): number => {
  const { views, worse }: MonitoringMetric = monitoringMetrics[id];
  const [value, overall] = [metricValue(id, group), metricValue(id, all)];
  return value === null || overall === null || worse === 0 ? 0 : worse * (value - overall) * views(group);
};
