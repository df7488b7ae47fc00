import { readTimeframe } from '../../api/validate/timeframe.js';
import type { Window } from '../../domain/usage/list-delivery-usage.js';
import type { Problems } from '../../lib/problems.js';
import type { Query } from './query-values.js';

const DURATION = /^(0*[1-9]\d{0,8}):(seconds|minutes|hours|days|weeks)$/;
const SECONDS_OF = { seconds: 1, minutes: 60, hours: 3600, days: 86_400, weeks: 604_800 } as const;
/** The end of the year 9999. Whoever sends milliseconds learns of it. */
export const MAX_SECONDS = 253_402_300_799;

/** The last 24 hours: the time frame of a request that names none. */
export const lastDay = (now: Date): Window => {
  const nowSeconds = Math.floor(now.getTime() / 1000);
  return [nowSeconds - SECONDS_OF.days, nowSeconds];
};

/**
 * Start and end of `timeframe[]` in Unix seconds: two times, or a duration that ends now, such as
 * `7:days`. The last 24 hours when it is absent. The start belongs to it, the end does not.
 */
export const readViewTimeframe = (query: Query, now: Date, problems: Problems): Window => {
  const byDefault = lastDay(now);
  const nowSeconds = byDefault[1];
  const { values, path, window } = readTimeframe(query);
  const text = values.filter((value) => value !== '');
  if (text.length === 0) return byDefault;
  if (window) {
    if (window.some((time) => time < 0 || time > MAX_SECONDS)) {
      problems.addSentence(path, `timeframe must be in Unix seconds from 0 to ${MAX_SECONDS}`);
    } else if (window[0] >= window[1]) problems.addSentence(path, 'timeframe start must be before timeframe end');
    return window;
  }
  const [, count, unit] = (text.length === 1 && DURATION.exec(text[0]!)) || [];
  if (count !== undefined) {
    return [Math.max(0, nowSeconds - Number(count) * SECONDS_OF[unit as keyof typeof SECONDS_OF]), nowSeconds];
  }
  problems.addSentence(path, 'timeframe must be two Unix timestamps or a duration such as 24:hours or 7:days');
  return byDefault;
};
