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
