/** The only door to the wall clock, so that tests can stand in for it where they would have to wait. */
export interface Clock {
  now(): Date;
  /** Monotonic milliseconds for measuring durations; never compare with `now()`. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** ISO 8601 in UTC with six digits after the second, as webhooks write times; JavaScript knows the first three. */
export const isoMicroseconds = (time: Date): string => time.toISOString().replace('Z', '000Z');
