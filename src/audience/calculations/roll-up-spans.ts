const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long roll-ups of hours are kept; older times are known by the day. */
export const KEEP_HOURS_MS = 14 * DAY_MS;

export type RollUpPeriod = 'hour' | 'day' | 'month';

/** Roll-ups of one period whose start is in [from, before), in milliseconds since 1970. */
export interface RollUpSpan {
  readonly period: RollUpPeriod;
  readonly from: number;
  readonly before: number;
}

const floor = (ms: number, step: number): number => Math.floor(ms / step) * step;
const ceil = (ms: number, step: number): number => Math.ceil(ms / step) * step;

/** The start of the month (UTC) in which a time is, or of a later one. */
const monthOf = (ms: number, later = 0): number => {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
};

/** The whole days or months in a time, and what is shorter. */
const longer = {
  day: { first: (ms: number) => ceil(ms, DAY_MS), end: (ms: number) => floor(ms, DAY_MS), shorter: 'hour' },
  month: { first: (ms: number) => monthOf(ms - 1, 1), end: (ms: number) => monthOf(ms), shorter: 'day' },
} as const;

/**
 * The fewest roll-ups that cover a time: those of whole months and days in UTC, and shorter ones
 * before and after them. Each hour that overlaps the time is covered once.
 */
export const rollUpSpans = (fromMs: number, beforeMs: number, longest: RollUpPeriod): RollUpSpan[] => {
  const [from, before] = [floor(fromMs, HOUR_MS), ceil(beforeMs, HOUR_MS)];
  if (from >= before) return [];
  if (longest === 'hour') return [{ period: 'hour', from, before }];
  const { first, end, shorter } = longer[longest];
  const whole = { period: longest, from: first(from), before: end(before) };
  if (whole.from >= whole.before) return rollUpSpans(from, before, shorter);
  return [...rollUpSpans(from, whole.from, shorter), whole, ...rollUpSpans(whole.before, before, shorter)];
};
