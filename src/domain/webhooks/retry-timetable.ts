import { jitter } from '../../lib/backoff.js';

/**
 * Seconds to wait after attempts 1, 2, …; an attempt without an entry is the last. About 23 hours
 * in total.
 */
const PAUSES_SECONDS = [
  15, 30, 60, 120, 300, 600, 1200, 2400, 3600, 7200, 10_800, 14_400, 14_400, 14_400, 14_400,
] as const;

export const MAX_ATTEMPTS = PAUSES_SECONDS.length + 1;

/**
 * Varies each pause by a tenth, so that deliveries that failed together are not retried together.
 */
const JITTER = 0.1;

/**
 * Milliseconds between failed attempt number `attempt` (1 is the first) and the next one; undefined
 * after the last.
 */
export const retryPauseMs = (attempt: number, factor = jitter(JITTER)): number | undefined => {
  const seconds = PAUSES_SECONDS[attempt - 1];
  return seconds === undefined ? undefined : Math.round(seconds * 1000 * factor);
};
