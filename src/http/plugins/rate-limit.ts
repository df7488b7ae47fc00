import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { createTokenBuckets, type Rate } from '../../lib/token-bucket.js';

export interface RateLimits {
  /** Absent means no limit. */
  readonly post?: Rate | undefined;
  /** For every other method. */
  readonly other?: Rate | undefined;
  /** How many servers answer the API: requests are spread over them. One when absent. */
  readonly servers?: () => number;
}

/** Counts a request of an environment. @throws KinoraError `too_many_requests` */
export type LimitRate = (environmentId: string, method: string) => void;

export const createRateLimit = ({ post, other, servers }: RateLimits, clock: Clock): LimitRate => {
  const takePost = post && createTokenBuckets(post, clock, servers);
  const takeOther = other && createTokenBuckets(other, clock, servers);
  return (environmentId, method) => {
    const take = method === 'POST' ? takePost : takeOther;
    if (take && !take(environmentId)) throw new KinoraError('too_many_requests');
  };
};
