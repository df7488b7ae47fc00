import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';

/** Rows read from the database by id, which may be answered from memory for a while. */
export interface TtlCache<T> {
  /** Undefined when there is nothing of that id. An answer is at most 55 seconds old. */
  find(id: string): Promise<T | undefined>;
  /** The next answer is read anew. */
  forget(id: string): void;
}

/** From here on an answer is read again, beside the request that it still serves. */
const REFRESH_MS = 30_000;
/** A change that another server made shows within this time; the promise is sixty seconds. */
const LIFETIME_MS = 55_000;
const MAX_ENTRIES = 1000;

/** Whoever is in use is read before it expires, so that a viewer's request never waits for the database. */
export const createTtlCache = <T>(load: (id: string) => Promise<T | undefined>, clock: Clock): TtlCache<T> => {
  // In an object, because the cache keeps a stale value when it reads `undefined`.
  const cache = new LRUCache<string, { readonly found: T | undefined }>({
    max: MAX_ENTRIES,
    ttl: REFRESH_MS,
    ttlResolution: 0,
    perf: { now: () => clock.monotonicMs() },
    allowStale: true,
    noDeleteOnFetchRejection: true,
    // Whoever asked before an id was forgotten still gets the answer, which is then not kept.
    ignoreFetchAbort: true,
    fetchMethod: async (id) => ({ found: await load(id) }),
  });
  return {
    async find(id) {
      if (cache.getRemainingTTL(id) <= REFRESH_MS - LIFETIME_MS) cache.delete(id);
      const { found } = (await cache.fetch(id))!;
      // Unknown ids are asked for again: they must not fill the cache.
      if (found === undefined) cache.delete(id);
      return found;
    },
    forget(id) {
      cache.delete(id);
    },
  };
};
