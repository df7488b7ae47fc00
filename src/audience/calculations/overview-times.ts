import { KEEP_HOURS_MS } from './roll-up-spans.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A longer time has a point for each day. */
const MAX_HOURS = 72;

/** What an overview covers, in milliseconds since 1970. */
export interface OverviewTimes {
  readonly unit: 'hour' | 'day';
  readonly stepMs: number;
  readonly fromMs: number;
  /** Exclusive. */
  readonly beforeMs: number;
  /** Where the time before starts, which ends at `fromMs`. */
  readonly previousMs: number;
}

const floor = (ms: number, step: number): number => Math.floor(ms / step) * step;
const ceil = (ms: number, step: number): number => Math.ceil(ms / step) * step;

/**
 * Whole hours, or days in UTC if the time is long or so long ago that its hours are not kept. The
 * time before is as long; it may begin up to a day earlier if its hours are not kept.
 */
export const overviewTimes = (from: Date, before: Date, now: Date): OverviewTimes => {
  const firstHourMs = ceil(now.getTime() - KEEP_HOURS_MS, DAY_MS);
  const spanMs = before.getTime() - from.getTime();
  const unit = spanMs > MAX_HOURS * HOUR_MS || from.getTime() - spanMs < firstHourMs ? 'day' : 'hour';
  const stepMs = unit === 'day' ? DAY_MS : HOUR_MS;
  const fromMs = floor(from.getTime(), stepMs);
  const beforeMs = ceil(before.getTime(), before.getTime() < firstHourMs ? DAY_MS : HOUR_MS);
  const previousMs = 2 * fromMs - beforeMs;
  return {
    ...{ unit, stepMs, fromMs, beforeMs },
    previousMs: previousMs < firstHourMs ? floor(previousMs, DAY_MS) : previousMs,
  };
};
