import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { createTokenBuckets, type Rate } from '../../lib/token-bucket.js';

export interface RateLimits {
  /** Absent means no limit. */
  readonly post?: Rate | undefined;
  /** For every other method. */
  readonly other?: Rate | undefined;
}

/** Counts a request of an environment. @throws KinoraError `too_many_requests` */
export type LimitRate = (environmentId: string, method: string) => void;

export const createRateLimit = ({ post, other }: RateLimits, clock: Clock): LimitRate => {
  const takePost = post && createTokenBuckets(post, clock);
  const takeOther = other && createTokenBuckets(other, clock);
  return (environmentId, method) => {
    const take = method === 'POST' ? takePost : takeOther;
    if (take && !take(environmentId)) throw new KinoraError('too_many_requests');
  };
};
