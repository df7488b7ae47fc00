import { createHash } from 'node:crypto';
import { renameSync, statSync } from 'node:fs';
import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { newUuid } from '../lib/ids.js';
import { makeDirectory } from '../lib/make-directory.js';
import type { Logger } from '../telemetry/logger.js';
import { type CacheEntry, createCacheIndex } from './cache-index.js';
import { keyPath, storedName } from './cache-path.js';
import { createHotFiles } from './hot-files.js';
import { scanCache } from './scan-cache.js';
import type { CachedFile, CacheKey } from './segment-store.js';

export interface CachedFilesOptions {
  readonly dir: string;
  readonly maxBytes: number;
  /** Limits the contents that are kept in memory; none by default. */
  readonly hotBytes?: number;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The committed files of the cache, by their path. */
export interface CachedFiles {
  readonly totalBytes: number;
  paths(): IterableIterator<string>;
  has(path: string): boolean;
  /** Undefined when the file is missing or differs from what was committed. */
  find(path: string): Promise<CachedFile | undefined>;
  /**
   * Makes a file visible and immediately calls `published`. A file that is already visible stays, because its
   * validator must not change. `isRemoved` prevents the commit of a file that is removed in the meantime.
   */
  commit(
    key: CacheKey,
    bytes: Uint8Array,
    isRemoved: () => boolean,
    published: (path: string, file: CachedFile) => void,
  ): Promise<void>;
  discard(path: string): Promise<void>;
  /** Removes a path from the index but keeps its file. */
  forget(path: string): void;
  /** Removes the least recently used files until `targetBytes` are left; returns the number of removed files. */
  evict(targetBytes: number): Promise<number>;
  stop(): void;
}

/** Eviction continues down to this share of the limit, so that not every commit has to evict. */
const EVICT_TO = 0.95;
/** A returned or committed path is opened within this time. An open descriptor survives the removal of its name. */
const UNTOUCHABLE_MS = 10_000;
const TOUCH_EVERY_MS = 60_000;

/** Reads the directory and keeps it below the limit. */
export const openCachedFiles = async (options: CachedFilesOptions): Promise<CachedFiles> => {
  const { dir, maxBytes, hotBytes = 0, logger, clock } = options;
  const index = createCacheIndex();
  const hot = createHotFiles({ maxBytes: hotBytes, clock });
  for (const { path, digest, sizeBytes, lastUsedMs } of await scanCache(dir)) {
    index.put(path, { sizeBytes, digest, lastUsedMs, touchedMs: lastUsedMs, verified: false });
  }

  const nowMs = () => clock.now().getTime();
  const absolute = (path: string, digest: string) => join(dir, storedName(path, digest));
  const cachedFile = (key: string, { digest, sizeBytes }: CacheEntry): CachedFile => {
    const path = absolute(key, digest);
    const lend = hotBytes > 0 && { lend: () => hot.lend(path, sizeBytes) };
    return { path, sizeBytes, etag: `"${digest}"`, ...lend };
  };

  const forget = (path: string): CacheEntry | undefined => {
    const entry = index.remove(path);
    if (entry) hot.remove(absolute(path, entry.digest));
    return entry;
  };

  const discard = async (path: string): Promise<void> => {
    const entry = forget(path);
    if (entry) await rm(absolute(path, entry.digest), { force: true });
  };

  const evict = async (targetBytes: number): Promise<number> => {
    const beforeMs = nowMs() - UNTOUCHABLE_MS;
    const victims = index.victims(targetBytes, beforeMs);
    for (const path of victims) {
      const entry = index.get(path);
      if (entry && entry.lastUsedMs < beforeMs) await discard(path);
    }
    if (victims.length > 0) logger.debug({ files: victims.length, total_bytes: index.totalBytes }, 'cache evicted');
    return victims.length;
  };

  const touch = (path: string, entry: CacheEntry, atMs: number): void => {
    if (atMs - entry.touchedMs < TOUCH_EVERY_MS) return;
    entry.touchedMs = atMs;
    // This only affects the order of a later eviction, and the file may have been evicted in the meantime.
    utimes(absolute(path, entry.digest), atMs / 1000, atMs / 1000).catch(() => undefined);
  };

  const find = async (path: string): Promise<CachedFile | undefined> => {
    const entry = index.get(path);
    if (!entry) return undefined;
    const file = cachedFile(path, entry);
    // A synchronous stat of a cached name takes microseconds and detects a cache directory that was emptied by hand.
    if (statSync(file.path, { throwIfNoEntry: false })?.size !== entry.sizeBytes) {
      await discard(path);
      return undefined;
    }
    if (!entry.verified) {
      const digest = await readFile(file.path).then(digestOf, () => undefined);
      if (digest !== entry.digest) {
        logger.warn({ path }, 'cached file damaged');
        if (index.get(path) === entry) await discard(path);
        return undefined;
      }
      entry.verified = true;
    }
    const atMs = nowMs();
    index.use(path, atMs);
    touch(path, entry, atMs);
    return file;
  };

  const commit: CachedFiles['commit'] = async (key, bytes, isRemoved, published) => {
    const path = keyPath(key);
    if (bytes.length === 0) throw new KinoraError('media_failed', { details: { key: path, reason: 'empty file' } });
    const present = await find(path);
    if (present) return published(path, present);
    const digest = digestOf(bytes);
    const target = absolute(path, digest);
    // In the same directory, where no media process can write. The next start removes what a killed commit left.
    const unfinished = `${target}.${newUuid()}`;
    try {
      await makeDirectory(dirname(target));
      await writeFile(unfinished, bytes);
      if (isRemoved()) throw new KinoraError('not_found');
      // Nothing is awaited from here to `published`, so the first of two productions of a key wins.
      let entry = index.get(path);
      if (!entry) {
        renameSync(unfinished, target);
        const atMs = nowMs();
        entry = { sizeBytes: bytes.length, digest, lastUsedMs: atMs, touchedMs: atMs, verified: true };
        index.put(path, entry);
      }
      published(path, cachedFile(path, entry));
    } finally {
      await rm(unfinished, { force: true });
    }
    if (index.totalBytes > maxBytes) await evict(maxBytes * EVICT_TO);
  };

  if (index.totalBytes > maxBytes) await evict(maxBytes * EVICT_TO);
  return {
    get totalBytes() {
      return index.totalBytes;
    },
    paths: () => index.paths(),
    has: (path) => index.get(path) !== undefined,
    find,
    commit,
    discard,
    forget: (path) => void forget(path),
    evict,
    stop: () => hot.stop(),
  };
};

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32);
