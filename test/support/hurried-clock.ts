import { type Clock, systemClock } from '#kinora/lib/clock.js';

/**
 * A clock on which a minute passes between two readings: a job that failed is due again when its
 * queue looks for it.
 */
export const hurriedClock = (): Clock => {
  let aheadMs = 0;
  return {
    ...systemClock,
    now: () => {
      aheadMs += 60_000;
      return new Date(systemClock.now().getTime() + aheadMs);
    },
  };
};
