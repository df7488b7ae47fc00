const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long roll-ups of hours are kept; older times are known by the day. */
export const KEEP_HOURS_MS = 14 * DAY_MS;

/** Roll-ups of one period whose start is in [from, before), in milliseconds since 1970. */
export interface RollUpSpan {
  readonly period: 'hour' | 'day';
  readonly from: number;
  readonly before: number;
}

const floor = (ms: number, step: number): number => Math.floor(ms / step) * step;
const ceil = (ms: number, step: number): number => Math.ceil(ms / step) * step;

/**
 * The fewest roll-ups that cover a time: those of whole days in UTC, and hours before and after
 * them. Each hour that overlaps the time is covered once. With `unit` hour, only hours.
 */
export const rollUpSpans = (fromMs: number, beforeMs: number, unit: 'hour' | 'day'): RollUpSpan[] => {
  const [from, before] = [floor(fromMs, HOUR_MS), ceil(beforeMs, HOUR_MS)];
  const [firstDay, lastDay] = [ceil(from, DAY_MS), floor(before, DAY_MS)];
  const hours = (start: number, end: number): RollUpSpan => ({ period: 'hour', from: start, before: end });
  const spans: RollUpSpan[] =
    unit === 'hour' || firstDay >= lastDay
      ? [hours(from, before)]
      : [hours(from, firstDay), { period: 'day', from: firstDay, before: lastDay }, hours(lastDay, before)];
  return spans.filter((span) => span.from < span.before);
};
