import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';
import { isUnavailable } from './unavailable.js';

/** Database rows by ID, cached for a while. */
export interface TtlCache<T> {
  /**
   * Undefined when no row has this ID. A result is at most 55 seconds old; while the database is unavailable it may be
   * up to 15 minutes old.
   */
  find(id: string): Promise<T | undefined>;
  /** Makes the next call read the row again. */
  forget(id: string): void;
  /** The same for all rows of a group. */
  forgetGroup(group: string): void;
  /** What is in memory, however old. */
  peek(id: string): T | undefined;
  /** Makes all rows be read again before they are used; they still serve while the database is unavailable. */
  expireAll(): void;
}

export interface TtlCacheOptions<T> {
  /** The rows with these IDs, in one query. IDs without a row are missing in the result. */
  readonly load: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;
  readonly clock: Clock;
  /** How long a result is used without asking again, if it is not the normal time. */
  readonly lifetimeMs?: (value: T) => number;
  /** By default, 1000 rows are kept. */
  readonly limit?: { readonly maxBytes: number; readonly sizeOf: (value: T) => number };
  /** What rows that are forgotten together have in common. */
  readonly groupOf?: (value: T) => string;
}

/** After this time, results in use are refreshed in the background of a request that they still serve. */
const REFRESH_MS = 30_000;
/** What is older is refreshed at the same time, so that one query serves all. */
const REFRESH_TOGETHER_MS = 10_000;
/** Changes by another server become visible within this time; the documented limit is sixty seconds. */
export const LIFETIME_MS = 55_000;
/** While the database is unavailable, results serve for this long after they were read. */
export const HELD_MS = 15 * 60_000;
/** A request that could be served from memory waits for the database for at most this time. */
const PATIENCE_MS = 1000;
/** The interval at which an unavailable database is tried again. */
const RETRY_MS = 1000;
/** A query without an answer after this time has failed: a lost connection can stay silent for a quarter of an hour. */
const QUERY_LIMIT_MS = 30_000;
const MAX_ENTRIES = 1000;
/** In one query. */
const MAX_BATCH = 1000;

interface Entry<T> {
  readonly value: T;
  readonly readAtMs: number;
  isUsed: boolean;
}

/**
 * Entries in use are refreshed together before they expire, so that a viewer's request never waits for the database
 * and the number of queries does not depend on the number of entries. A definite answer replaces an older one at once.
 */
export const createTtlCache = <T extends object>(options: TtlCacheOptions<T>): TtlCache<T> => {
  const { load, clock, lifetimeMs = () => LIFETIME_MS, limit, groupOf = () => '' } = options;
  const entries = new LRUCache<string, Entry<T>>({
    ...(limit
      ? { maxSize: limit.maxBytes, sizeCalculation: ({ value }) => Math.max(1, limit.sizeOf(value)) }
      : { max: MAX_ENTRIES }),
    dispose: ({ value }, id, reason) => {
      if (reason !== 'set') groups.get(groupOf(value))?.delete(id);
      if (groups.get(groupOf(value))?.size === 0) groups.delete(groupOf(value));
    },
  });
  /** IDs by group. */
  const groups = new Map<string, Set<string>>();
  const loading = new Map<string, Promise<T | undefined>>();
  /** Set while queries fail or take too long. */
  let isAway = false;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** What was read before is read again. */
  let validFromMs = Number.NEGATIVE_INFINITY;
  let isRefreshing = false;

  const store = (id: string, entry: Entry<T>): void => {
    const group = groupOf(entry.value);
    const ids = groups.get(group) ?? new Set();
    groups.set(group, ids.add(id));
    entries.set(id, entry);
    // Larger than all of the memory.
    if (!entries.has(id)) ids.delete(id);
  };

  const query = async (ids: readonly string[]): Promise<{ found: ReadonlyMap<string, T>; readAtMs: number }> => {
    const readAtMs = clock.monotonicMs();
    triedAtMs = readAtMs;
    const patience = setTimeout(() => {
      isAway = true;
    }, PATIENCE_MS).unref();
    let limitTimer: NodeJS.Timeout | undefined;
    const limited = new Promise<never>((_, reject) => {
      const error = Object.assign(new Error('the database did not answer'), { code: 'ETIMEDOUT' });
      limitTimer = setTimeout(() => reject(error), QUERY_LIMIT_MS).unref();
    });
    try {
      const found = await Promise.race([load(ids), limited]);
      isAway = false;
      return { found, readAtMs };
    } catch (error) {
      isAway = isUnavailable(error);
      throw error;
    } finally {
      clearTimeout(patience);
      clearTimeout(limitTimer);
    }
  };

  const isExpired = ({ value, readAtMs }: Entry<T>, nowMs: number): boolean =>
    readAtMs < validFromMs || nowMs - readAtMs >= lifetimeMs(value);

  const refreshUsed = async (): Promise<void> => {
    const nowMs = clock.monotonicMs();
    const used: [string, Entry<T>][] = [];
    for (const [id, entry] of entries.entries()) {
      const isDue = nowMs - entry.readAtMs >= REFRESH_TOGETHER_MS || isExpired(entry, nowMs);
      if (!entry.isUsed || !isDue) continue;
      used.push([id, entry]);
      entry.isUsed = false;
    }
    for (let at = 0; at < used.length; at += MAX_BATCH) {
      const batch = used.slice(at, at + MAX_BATCH);
      const { found, readAtMs } = await query(batch.map(([id]) => id));
      for (const [id, entry] of batch) {
        // Forgotten or read again in the meantime.
        if (entries.peek(id) !== entry) continue;
        const value = found.get(id);
        if (value) store(id, { value, readAtMs, isUsed: entry.isUsed });
        else entries.delete(id);
      }
    }
  };
  const refresh = (): void => {
    if (isRefreshing) return;
    isRefreshing = true;
    const end = () => {
      isRefreshing = false;
    };
    // Whoever needs a row that could not be read gets the error.
    refreshUsed().then(end, end);
  };

  const read = async (id: string, isWanted: () => boolean): Promise<T | undefined> => {
    const { found, readAtMs } = await query([id]);
    const value = found.get(id);
    if (!isWanted()) return value;
    // Unknown IDs are looked up again, so that they can't fill the cache.
    if (value) store(id, { value, readAtMs, isUsed: true });
    else entries.delete(id);
    return value;
  };

  /** Reads a row. Without an answer in time, the row in memory serves if there is one and it was not forgotten. */
  const readOrKeep = async (id: string, known: Entry<T> | undefined): Promise<T | undefined> => {
    const isWanted = () => loading.get(id) === promise;
    const reading = read(id, isWanted);
    const held = async (error: unknown): Promise<T | undefined> => {
      if (known && isUnavailable(error) && entries.peek(id) === known) return known.value;
      throw error;
    };
    let patience: NodeJS.Timeout | undefined;
    const inTime = known
      ? Promise.race([
          reading.catch(held),
          new Promise<T | undefined>((resolve) => {
            patience = setTimeout(() => resolve(entries.peek(id) === known ? known.value : reading), PATIENCE_MS);
          }),
        ])
      : reading;
    const promise = inTime.finally(() => clearTimeout(patience));
    loading.set(id, promise);
    const end = () => {
      if (isWanted()) loading.delete(id);
    };
    // Until the query has ended, it is the only one for this ID.
    reading.then(end, end);
    return promise;
  };

  const forget = (id: string): void => {
    loading.delete(id);
    entries.delete(id);
  };

  return {
    find(id) {
      const nowMs = clock.monotonicMs();
      const entry = entries.get(id);
      const known = entry && nowMs - entry.readAtMs < HELD_MS ? entry : undefined;
      if (known) {
        known.isUsed = true;
        const expired = isExpired(known, nowMs);
        const isDue = expired || nowMs - known.readAtMs > REFRESH_MS;
        if (isAway ? isDue && nowMs - triedAtMs >= RETRY_MS : isDue && !expired) refresh();
        if (!expired || isAway) return Promise.resolve(known.value);
      }
      return loading.get(id) ?? readOrKeep(id, known);
    },
    forget,
    forgetGroup(group) {
      for (const id of groups.get(group) ?? []) forget(id);
      // What is being read may belong to the group.
      for (const id of loading.keys()) if (!entries.has(id)) loading.delete(id);
    },
    peek: (id) => entries.peek(id)?.value,
    expireAll() {
      validFromMs = clock.monotonicMs();
    },
  };
};
