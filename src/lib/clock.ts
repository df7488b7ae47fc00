/**
 * All code reads the time from this interface, so that tests can replace it where they would have
 * to wait.
 */
export interface Clock {
  now(): Date;
  /** Monotonic milliseconds for measuring durations; never compare with `now()`. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** ISO 8601 in UTC with six decimals, as in webhooks; JavaScript provides the first three. */
export const isoMicroseconds = (time: Date): string => time.toISOString().replace('Z', '000Z');
