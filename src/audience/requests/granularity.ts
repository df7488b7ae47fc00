import type { Window } from '../../domain/usage/list-delivery-usage.js';

export const granularities = ['minute', 'ten_minutes', 'hour', 'day'] as const;
export type Granularity = (typeof granularities)[number];

const SECONDS = { minute: 60, ten_minutes: 600, hour: 3600, day: 86_400 } as const;

/** A month in minutes, or a century in days. */
export const MAX_INTERVALS = 45_000;

export const stepOf = (granularity: Granularity): number => SECONDS[granularity];

/** For a time frame whose request names none. */
export const granularityOf = ([start, end]: Window): Granularity => {
  const length = end - start;
  if (length < 90 * SECONDS.minute) return 'minute';
  if (length < 6 * SECONDS.hour) return 'ten_minutes';
  return length <= 15 * SECONDS.day ? 'hour' : 'day';
};

const firstStart = (start: number, step: number): number => Math.floor(start / step) * step;

/** How many intervals overlap a time frame. */
export const intervalCount = ([start, end]: Window, granularity: Granularity): number => {
  const step = stepOf(granularity);
  return Math.ceil((end - firstStart(start, step)) / step);
};

/** The starts of all intervals that overlap a time frame, in Unix seconds; whole in UTC. */
export const intervalStarts = (timeframe: Window, granularity: Granularity): number[] => {
  const step = stepOf(granularity);
  const first = firstStart(timeframe[0], step);
  return Array.from({ length: intervalCount(timeframe, granularity) }, (_, at) => first + at * step);
};
