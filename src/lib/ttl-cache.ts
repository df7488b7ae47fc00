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

interface Entry<T> {
  readonly readAtMs: number;
  readonly answer: Promise<T | undefined>;
  refreshing: boolean;
}

/** Whoever is in use is read before it expires, so that a viewer's request never waits for the database. */
export const createTtlCache = <T>(load: (id: string) => Promise<T | undefined>, clock: Clock): TtlCache<T> => {
  const entries = new Map<string, Entry<T>>();

  const read = (id: string): Entry<T> => ({ readAtMs: clock.monotonicMs(), answer: load(id), refreshing: false });

  /** Puts `entry` in the place of `previous`, unless that was forgotten while `entry` was read. */
  const replace = (id: string, previous: Entry<T>, entry: Entry<T>): void => {
    if (entries.get(id) === previous) entries.set(id, entry);
  };

  const refresh = async (id: string, known: Entry<T>): Promise<void> => {
    known.refreshing = true;
    const entry = read(id);
    try {
      if ((await entry.answer) !== undefined) replace(id, known, entry);
      else if (entries.get(id) === known) entries.delete(id);
    } catch {
      // The known answer holds until it expires; the request that finds it expired meets the failure itself.
      known.refreshing = false;
    }
  };

  return {
    find(id) {
      const known = entries.get(id);
      const ageMs = known ? clock.monotonicMs() - known.readAtMs : Number.POSITIVE_INFINITY;
      if (known && ageMs < LIFETIME_MS) {
        if (ageMs >= REFRESH_MS && !known.refreshing) void refresh(id, known);
        return known.answer;
      }
      const entry = read(id);
      entries.delete(id);
      entries.set(id, entry);
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
      const drop = () => entries.get(id) === entry && entries.delete(id);
      // Unknown ids are asked for again: they must not fill the cache.
      entry.answer.then((found) => found === undefined && drop(), drop);
      return entry.answer;
    },
    forget(id) {
      entries.delete(id);
    },
  };
};
