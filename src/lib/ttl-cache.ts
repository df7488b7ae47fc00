import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';

/** Database rows by ID, cached for a while. */
export interface TtlCache<T> {
  /** Undefined when no row has this ID. A result is at most 55 seconds old. */
  find(id: string): Promise<T | undefined>;
  /** Makes the next call read the row again. */
  forget(id: string): void;
}

/** After this time, a result is refreshed in the background of the request that it still serves. */
const REFRESH_MS = 30_000;
/** Changes by another server become visible within this time; the documented limit is sixty seconds. */
const LIFETIME_MS = 55_000;
const MAX_ENTRIES = 1000;

/** Entries in use are refreshed before they expire, so that a viewer's request never waits for the database. */
export const createTtlCache = <T>(load: (id: string) => Promise<T | undefined>, clock: Clock): TtlCache<T> => {
  // Wrapped in an object, because the cache keeps a stale value when a load returns `undefined`.
  const cache = new LRUCache<string, { readonly found: T | undefined }>({
    max: MAX_ENTRIES,
    ttl: REFRESH_MS,
    ttlResolution: 0,
    perf: { now: () => clock.monotonicMs() },
    allowStale: true,
    noDeleteOnFetchRejection: true,
    // Callers from before `forget` still get their result, which is then not cached.
    ignoreFetchAbort: true,
    fetchMethod: async (id) => ({ found: await load(id) }),
  });
  return {
    async find(id) {
      if (cache.getRemainingTTL(id) <= REFRESH_MS - LIFETIME_MS) cache.delete(id);
      const { found } = (await cache.fetch(id))!;
      // Unknown IDs are looked up again, so that they can't fill the cache.
      if (found === undefined) cache.delete(id);
      return found;
    },
    forget(id) {
      cache.delete(id);
    },
  };
};
