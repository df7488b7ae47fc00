import { createHash } from 'node:crypto';
import { renameSync, statSync } from 'node:fs';
import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { newUuid } from '../lib/ids.js';
import { makeDirectory } from '../lib/make-directory.js';
import type { Logger } from '../telemetry/logger.js';
import { type CacheEntry, CacheIndex } from './cache-index.js';
import { type CacheKey, keyPath, storedName } from './cache-key.js';
import { type HotContent, HotFiles, type HotForm } from './hot-files.js';
import { scanCache } from './scan-cache.js';

export interface CachedFilesOptions {
  readonly dir: string;
  readonly maxBytes: number;
  /** Limits the contents that are kept in memory; none by default. */
  readonly hotBytes?: number | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface CachedFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** A strong validator, including quotation marks. */
  readonly etag: string;
  /**
   * The content in memory, for a file that is requested repeatedly. Each call counts as a request
   * for the file, or for a form of it.
   */
  readonly acquire?: ((form?: HotForm) => Promise<HotContent | undefined>) | undefined;
}

/** Eviction continues down to this share of the limit, so that not every commit has to evict. */
const EVICT_TO = 0.95;
/**
 * A returned or committed path is opened within this time. An open descriptor survives the removal
 * of its name.
 */
const UNTOUCHABLE_MS = 10_000;
const TOUCH_EVERY_MS = 60_000;

/** The committed files of the cache, by their path. Keeps the directory below the limit. */
export class CachedFiles {
  private readonly index = new CacheIndex();
  private readonly hot: HotFiles;

  /** Reads the directory. */
  static async open(options: CachedFilesOptions): Promise<CachedFiles> {
    const files = new CachedFiles(options);
    for (const { path, digest, sizeBytes, lastUsedMs } of await scanCache(options.dir)) {
      files.index.put(path, { sizeBytes, digest, lastUsedMs, touchedMs: lastUsedMs, verified: false });
    }
    await files.evictBeyondLimit();
    return files;
  }

  private constructor(private readonly options: CachedFilesOptions) {
    const { hotBytes = 0, clock } = options;
    this.hot = new HotFiles(hotBytes, clock);
  }

  get totalBytes(): number {
    return this.index.totalBytes;
  }

  paths(): IterableIterator<string> {
    return this.index.paths();
  }

  has(path: string): boolean {
    return this.index.get(path) !== undefined;
  }

  /** Undefined when the file is missing or differs from what was committed. */
  async find(path: string): Promise<CachedFile | undefined> {
    const entry = this.index.get(path);
    if (!entry) return undefined;
    const file = this.cachedFile(path, entry);
    // A synchronous stat of a cached name takes microseconds and detects a cache directory that was
    // emptied by hand.
    if (statSync(file.path, { throwIfNoEntry: false })?.size !== entry.sizeBytes) {
      await this.discard(path);
      return undefined;
    }
    if (!entry.verified) {
      const digest = await readFile(file.path).then(digestOf, () => undefined);
      if (digest !== entry.digest) {
        this.options.logger.warn({ path }, 'cached file damaged');
        if (this.index.get(path) === entry) await this.discard(path);
        return undefined;
      }
      entry.verified = true;
    }
    const atMs = this.nowMs();
    this.index.use(path, atMs);
    this.touch(path, entry, atMs);
    return file;
  }

  /**
   * Makes a file visible and immediately calls `onVisible`. A file that is already visible stays,
   * because its validator must not change. `isRemoved` prevents the commit of a file that is
   * removed in the meantime.
   */
  async commit(
    key: CacheKey,
    bytes: Uint8Array,
    isRemoved: () => boolean,
    onVisible: (path: string, file: CachedFile) => void,
  ): Promise<void> {
    const path = keyPath(key);
    if (bytes.length === 0) throw new KinoraError('media_failed', { details: { key: path, reason: 'empty file' } });
    const present = await this.find(path);
    if (present) return onVisible(path, present);
    const digest = digestOf(bytes);
    const target = this.absolute(path, digest);
    // In the same directory, where no media process can write. The next start removes what a killed
    // commit left.
    const unfinished = `${target}.${newUuid()}`;
    try {
      await makeDirectory(dirname(target));
      await writeFile(unfinished, bytes);
      if (isRemoved()) throw new KinoraError('not_found');
      // Nothing is awaited from here to `onVisible`, so the first of two productions of a key wins.
      let entry = this.index.get(path);
      if (!entry) {
        renameSync(unfinished, target);
        const atMs = this.nowMs();
        entry = { sizeBytes: bytes.length, digest, lastUsedMs: atMs, touchedMs: atMs, verified: true };
        this.index.put(path, entry);
      }
      onVisible(path, this.cachedFile(path, entry));
    } finally {
      await rm(unfinished, { force: true });
    }
    await this.evictBeyondLimit();
  }

  async discard(path: string): Promise<void> {
    const entry = this.forget(path);
    if (entry) await rm(this.absolute(path, entry.digest), { force: true });
  }

  /** Removes a path from the index but keeps its file. */
  forget(path: string): CacheEntry | undefined {
    const entry = this.index.remove(path);
    if (entry) this.hot.remove(this.absolute(path, entry.digest));
    return entry;
  }

  /**
   * Removes the least recently used files until `targetBytes` are left; returns the number of
   * removed files.
   */
  async evict(targetBytes: number): Promise<number> {
    const beforeMs = this.nowMs() - UNTOUCHABLE_MS;
    const victims = this.index.victims(targetBytes, beforeMs);
    for (const path of victims) {
      const entry = this.index.get(path);
      if (entry && entry.lastUsedMs < beforeMs) await this.discard(path);
    }
    if (victims.length > 0)
      this.options.logger.debug({ files: victims.length, total_bytes: this.totalBytes }, 'cache evicted');
    return victims.length;
  }

  stop(): void {
    this.hot.stop();
  }

  private async evictBeyondLimit(): Promise<void> {
    const { maxBytes } = this.options;
    if (this.totalBytes > maxBytes) await this.evict(maxBytes * EVICT_TO);
  }

  private cachedFile(key: string, { digest, sizeBytes }: CacheEntry): CachedFile {
    const path = this.absolute(key, digest);
    const acquire = this.hot.isEnabled ? (form?: HotForm) => this.hot.acquire(path, sizeBytes, form) : undefined;
    return { path, sizeBytes, etag: `"${digest}"`, acquire };
  }

  private touch(path: string, entry: CacheEntry, atMs: number): void {
    if (atMs - entry.touchedMs < TOUCH_EVERY_MS) return;
    entry.touchedMs = atMs;
    // This only affects the order of a later eviction, and the file may have been evicted in the
    // meantime.
    utimes(this.absolute(path, entry.digest), atMs / 1000, atMs / 1000).catch(() => undefined);
  }

  private absolute(path: string, digest: string): string {
    return join(this.options.dir, storedName(path, digest));
  }

  private nowMs(): number {
    return this.options.clock.now().getTime();
  }
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32);
