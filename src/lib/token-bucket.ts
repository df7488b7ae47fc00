import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';

export interface Rate {
  readonly perSecond: number;
  /** The number of requests that may come at the same time; at least 1. */
  readonly burst: number;
}

/** Keys such as addresses may be countless; the one that was used least recently starts again. */
const MAX_KEYS = 10_000;

/**
 * A token bucket per key: each starts with `burst` tokens and gains `perSecond` up to that number.
 * A fixed window would allow twice its limit around its boundary. `sharedBy` servers have a part of
 * both each.
 * @returns whether there was a token, which is then taken
 */
export const createTokenBuckets = (
  rate: Rate,
  clock: Clock,
  sharedBy: () => number = () => 1,
): ((key: string) => boolean) => {
  const buckets = new LRUCache<string, { tokens: number; atMs: number }>({ max: MAX_KEYS });
  return (key) => {
    const nowMs = clock.monotonicMs();
    const servers = Math.max(1, sharedBy());
    const perSecond = rate.perSecond / servers;
    const burst = Math.max(1, rate.burst / servers);
    const { tokens, atMs } = buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const available = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * perSecond);
    const taken = available >= 1;
    buckets.set(key, { tokens: taken ? available - 1 : available, atMs: nowMs });
    return taken;
  };
};
