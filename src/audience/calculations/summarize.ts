import { startupPercentile } from './startup-buckets.js';

/** Sums over views, as roll-ups have them. Times in milliseconds. */
export interface ViewSums {
  readonly views: number;
  readonly watch_ms: number;
  readonly playing_ms: number;
  readonly rebuffers: number;
  readonly rebuffer_ms: number;
  readonly startups: number;
  readonly startup_ms: number;
  readonly startup_failures: number;
  readonly playback_failures: number;
  readonly exits: number;
}

/** Sums over views that began in a period and have the same value of a dimension. */
export interface ViewFact extends ViewSums {
  /** The start of the hour or day; null for the whole time. */
  readonly time: Date | null;
  /** Empty for all views. */
  readonly dimension: string;
  readonly value: string;
}

/** Sums over all views that have the same value of a dimension. */
export type ValueFact = Pick<ViewFact, 'dimension' | 'value' | 'views' | 'watch_ms' | 'rebuffer_ms'>;

/** Times in milliseconds. */
export interface PlayedFigures {
  readonly views: number;
  readonly watchMs: number;
  /** The part of the watch time that was spent waiting, from 0 to 1; null if nobody watched. */
  readonly rebufferShare: number | null;
}

/** What views of a time add up to. Times in milliseconds. */
export interface AudienceFigures extends PlayedFigures {
  readonly playingMs: number;
  /** Of views that showed a frame; null without any. */
  readonly startupMedianMs: number | null;
  readonly startupP95Ms: number | null;
  readonly rebuffers: number;
  readonly playbackFailures: number;
  readonly startupFailures: number;
  readonly exits: number;
}

export const playedOf = (sums: Pick<ViewSums, 'views' | 'watch_ms' | 'rebuffer_ms'>): PlayedFigures => ({
  views: sums.views,
  watchMs: sums.watch_ms,
  rebufferShare: sums.watch_ms === 0 ? null : sums.rebuffer_ms / sums.watch_ms,
});

/** The figures of facts that are about all views or startup times; other facts are ignored. */
export const summarize = (facts: readonly ViewFact[]): AudienceFigures => {
  const all = facts.filter(({ dimension }) => dimension === '');
  const sum = (name: keyof ViewSums): number => all.reduce((total, fact) => total + fact[name], 0);
  const buckets = new Map<number, number>();
  for (const { dimension, value, views } of facts)
    if (dimension === 'startup_bucket') buckets.set(Number(value), (buckets.get(Number(value)) ?? 0) + views);
  return {
    ...playedOf({ views: sum('views'), watch_ms: sum('watch_ms'), rebuffer_ms: sum('rebuffer_ms') }),
    playingMs: sum('playing_ms'),
    startupMedianMs: startupPercentile(buckets, 0.5),
    startupP95Ms: startupPercentile(buckets, 0.95),
    rebuffers: sum('rebuffers'),
    playbackFailures: sum('playback_failures'),
    startupFailures: sum('startup_failures'),
    exits: sum('exits'),
  };
};

/** Equal steps of a time, in milliseconds since 1970. */
interface Steps {
  readonly fromMs: number;
  /** Exclusive. */
  readonly beforeMs: number;
  readonly stepMs: number;
}

export interface AudiencePoint extends AudienceFigures {
  readonly time: Date;
}

/** The figures of each hour or day from one time to another, also of those without views. */
export const seriesOf = (facts: readonly ViewFact[], { fromMs, beforeMs, stepMs }: Steps): AudiencePoint[] => {
  const byTime = new Map<number | undefined, ViewFact[]>();
  for (const fact of facts) {
    const time = fact.time?.getTime();
    const others = byTime.get(time);
    if (others) others.push(fact);
    else byTime.set(time, [fact]);
  }
  const points: AudiencePoint[] = [];
  for (let time = fromMs; time < beforeMs; time += stepMs)
    points.push({ time: new Date(time), ...summarize(byTime.get(time) ?? []) });
  return points;
};

/** Viewers at equal steps of time, from changes of their number. */
export const stepsOf = (
  changes: readonly { readonly time: Date; readonly viewers: number }[],
  { fromMs, beforeMs, stepMs }: Steps,
): { time: Date; viewers: number }[] => {
  const steps: { time: Date; viewers: number }[] = [];
  let next = 0;
  let viewers = 0;
  for (let time = fromMs; time < beforeMs; time += stepMs) {
    for (; next < changes.length && changes[next]!.time.getTime() <= time; next++) viewers = changes[next]!.viewers;
    steps.push({ time: new Date(time), viewers });
  }
  return steps;
};
