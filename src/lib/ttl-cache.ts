import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';
import { isUnavailable } from './unavailable.js';

export interface TtlCacheOptions<T> {
  /** The rows with these IDs, in one query. IDs without a row are missing in the result. */
  readonly load: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;
  readonly clock: Clock;
  /** How long a row is used without asking again, if it is not the normal time. */
  readonly lifetimeMs?: (value: T) => number;
  /** By default, 1000 rows are kept. */
  readonly limit?: { readonly maxBytes: number; readonly sizeOf: (value: T) => number };
  /** What rows that are forgotten together have in common. */
  readonly groupOf?: (value: T) => string;
}

/** From this age on, rows in use are refreshed in the background of a request that they serve. */
const REFRESH_MS = 30_000;
/** Rows of this age are refreshed at the same time, so that one query serves all. */
const REFRESH_TOGETHER_MS = 10_000;
/**
 * Changes by another server become visible within this time; the documented limit is 60 seconds.
 */
export const LIFETIME_MS = 55_000;
/** While the database is unavailable, rows serve until this age. */
export const HELD_MS = 15 * 60_000;
/** A request that could be served from memory waits for the database for at most this time. */
const READ_TIMEOUT_MS = 1000;
/** The interval at which an unavailable database is tried again. */
const RETRY_MS = 1000;
/** A slower query has failed: a lost connection can stay silent for a quarter of an hour. */
const QUERY_TIMEOUT_MS = 30_000;
const MAX_ENTRIES = 1000;
/** In one query. */
const MAX_BATCH = 1000;

interface Entry<T> {
  readonly value: T;
  readonly readAtMs: number;
  /** Since it was read or was last chosen to be refreshed. */
  isUsed: boolean;
}

const TIMEOUT = Symbol('timeout');

/**
 * Database rows by ID, cached for a while. Rows in use are refreshed together before they expire,
 * so that a viewer's request never waits for the database, and the number of queries does not
 * depend on the number of rows. What `find` does depends on the age of the row:
 *
 *     absent ◀──────── forget, or a read that finds no row ───────┐
 *       │ read                                                    │
 *       ▼                                                         │
 *     fresh     it serves                                         │
 *       │ 30 s                                                    │
 *       ▼                                                         │
 *     due       it serves; all rows in use are refreshed ──▶ fresh or absent
 *       │ 55 s, its own lifetime, or expireAll                    │
 *       ▼                                                         │
 *     expired   it is read first ──▶ fresh or absent; if the database is unavailable or takes
 *       │ 15 min                     longer than 1 s, it serves
 *       ▼
 *     too old   as absent
 *
 * While the database is unavailable, expired rows serve at once, and a refresh tries it once a
 * second.
 */
export class TtlCache<T extends object> {
  private readonly entries: LRUCache<string, Entry<T>>;
  /** IDs by group. */
  private readonly groups = new Map<string, Set<string>>();
  /** Reads whose result the next caller may share. */
  private readonly loading = new Map<string, Promise<T | undefined>>();
  private readonly lifetimeMs: (value: T) => number;
  private readonly groupOf: (value: T) => string;
  /** Set while queries fail or take too long. */
  private isDatabaseUnavailable = false;
  private triedAtMs = Number.NEGATIVE_INFINITY;
  /** Rows that were read before have expired. */
  private validFromMs = Number.NEGATIVE_INFINITY;
  private isRefreshing = false;

  constructor(private readonly options: TtlCacheOptions<T>) {
    const { limit, lifetimeMs = () => LIFETIME_MS, groupOf = () => '' } = options;
    this.lifetimeMs = lifetimeMs;
    this.groupOf = groupOf;
    this.entries = new LRUCache({
      ...(limit
        ? { maxSize: limit.maxBytes, sizeCalculation: ({ value }: Entry<T>) => Math.max(1, limit.sizeOf(value)) }
        : { max: MAX_ENTRIES }),
      dispose: ({ value }, id, reason) => {
        if (reason !== 'set') this.leaveGroup(groupOf(value), id);
      },
    });
  }

  /**
   * Undefined when no row has this ID. A result is at most 55 seconds old; while the database is
   * unavailable it may be up to 15 minutes old.
   */
  find(id: string): Promise<T | undefined> {
    const nowMs = this.options.clock.monotonicMs();
    const entry = this.entries.get(id);
    const held = entry && nowMs - entry.readAtMs < HELD_MS ? entry : undefined;
    if (held) {
      held.isUsed = true;
      const expired = this.isExpired(held, nowMs);
      const isDue = expired || nowMs - held.readAtMs > REFRESH_MS;
      const mayRefresh = this.isDatabaseUnavailable ? nowMs - this.triedAtMs >= RETRY_MS : !expired;
      if (isDue && mayRefresh) this.refresh();
      if (!expired || this.isDatabaseUnavailable) return Promise.resolve(held.value);
    }
    return this.loading.get(id) ?? this.load(id, held);
  }

  /** The row in memory, however old. */
  peek(id: string): T | undefined {
    return this.entries.peek(id)?.value;
  }

  /** Makes the next call read the row again. */
  forget(id: string): void {
    this.loading.delete(id);
    this.entries.delete(id);
  }

  /** The same for all rows of a group. */
  forgetGroup(group: string): void {
    for (const id of this.groups.get(group) ?? []) this.forget(id);
    // A row that is being read may belong to the group.
    for (const id of this.loading.keys()) if (!this.entries.has(id)) this.loading.delete(id);
  }

  /**
   * Makes all rows be read again; until then, they still serve while the database is unavailable.
   */
  expireAll(): void {
    this.validFromMs = this.options.clock.monotonicMs();
  }

  private isExpired({ value, readAtMs }: Entry<T>, nowMs: number): boolean {
    return readAtMs < this.validFromMs || nowMs - readAtMs >= this.lifetimeMs(value);
  }

  private load(id: string, held: Entry<T> | undefined): Promise<T | undefined> {
    const isCurrent = (): boolean => this.loading.get(id) === promise;
    const reading = this.read(id, isCurrent);
    const promise = held ? this.orHeld(reading, id, held) : reading;
    this.loading.set(id, promise);
    const end = (): void => {
      if (isCurrent()) this.loading.delete(id);
    };
    // Until the query has ended, it is the only one for this ID.
    reading.then(end, end);
    return promise;
  }

  /**
   * The result of a read. If it comes too late or can't come, the held row, unless it was
   * forgotten.
   */
  private async orHeld(reading: Promise<T | undefined>, id: string, held: Entry<T>): Promise<T | undefined> {
    const isHeld = (): boolean => this.entries.peek(id) === held;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<typeof TIMEOUT>((resolve) => {
      timer = setTimeout(resolve, READ_TIMEOUT_MS, TIMEOUT);
    });
    try {
      const result = await Promise.race([reading, timeout]);
      if (result !== TIMEOUT) return result;
    } catch (error) {
      if (!isUnavailable(error) || !isHeld()) throw error;
      return held.value;
    } finally {
      clearTimeout(timer);
    }
    return isHeld() ? held.value : reading;
  }

  /** A definite result replaces an older one at once, but not one that was forgotten meanwhile. */
  private async read(id: string, isCurrent: () => boolean): Promise<T | undefined> {
    const { rows, readAtMs } = await this.query([id]);
    const value = rows.get(id);
    if (!isCurrent()) return value;
    // Unknown IDs are looked up again, so that they can't fill the cache.
    if (value) this.store(id, { value, readAtMs, isUsed: true });
    else this.entries.delete(id);
    return value;
  }

  private refresh(): void {
    if (this.isRefreshing) return;
    this.isRefreshing = true;
    const end = (): void => {
      this.isRefreshing = false;
    };
    // Whoever needs a row that could not be read gets the error.
    this.refreshUsed().then(end, end);
  }

  private async refreshUsed(): Promise<void> {
    const nowMs = this.options.clock.monotonicMs();
    const used: [string, Entry<T>][] = [];
    for (const [id, entry] of this.entries.entries()) {
      const isDue = nowMs - entry.readAtMs >= REFRESH_TOGETHER_MS || this.isExpired(entry, nowMs);
      if (!entry.isUsed || !isDue) continue;
      used.push([id, entry]);
      entry.isUsed = false;
    }
    for (let at = 0; at < used.length; at += MAX_BATCH) {
      const batch = used.slice(at, at + MAX_BATCH);
      const { rows, readAtMs } = await this.query(batch.map(([id]) => id));
      for (const [id, entry] of batch) {
        // Forgotten or read again in the meantime.
        if (this.entries.peek(id) !== entry) continue;
        const value = rows.get(id);
        if (value) this.store(id, { value, readAtMs, isUsed: entry.isUsed });
        else this.entries.delete(id);
      }
    }
  }

  private async query(ids: readonly string[]): Promise<{ rows: ReadonlyMap<string, T>; readAtMs: number }> {
    const readAtMs = this.options.clock.monotonicMs();
    this.triedAtMs = readAtMs;
    const slow = setTimeout(() => {
      this.isDatabaseUnavailable = true;
    }, READ_TIMEOUT_MS).unref();
    let limit: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      const error = Object.assign(new Error('the database did not answer'), { code: 'ETIMEDOUT' });
      limit = setTimeout(() => reject(error), QUERY_TIMEOUT_MS).unref();
    });
    try {
      const rows = await Promise.race([this.options.load(ids), timeout]);
      this.isDatabaseUnavailable = false;
      return { rows, readAtMs };
    } catch (error) {
      this.isDatabaseUnavailable = isUnavailable(error);
      throw error;
    } finally {
      clearTimeout(slow);
      clearTimeout(limit);
    }
  }

  private store(id: string, entry: Entry<T>): void {
    const group = this.groupOf(entry.value);
    const ids = this.groups.get(group) ?? new Set();
    this.groups.set(group, ids.add(id));
    this.entries.set(id, entry);
    // Larger than all of the memory.
    if (!this.entries.has(id)) ids.delete(id);
  }

  private leaveGroup(group: string, id: string): void {
    const ids = this.groups.get(group);
    ids?.delete(id);
    if (ids?.size === 0) this.groups.delete(group);
  }
}
