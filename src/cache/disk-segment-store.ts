import { createHash } from 'node:crypto';
import { renameSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, statfs, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { throwIfAborted } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { newUuid } from '../lib/ids.js';
import type { Logger } from '../telemetry/logger.js';
import { type CacheEntry, createCacheIndex } from './cache-index.js';
import { assertSafeKey, assetPath, isOfRendition, keyPath, storedName } from './cache-path.js';
import { createInFlightRequest, type InFlightRequest } from './in-flight.js';
import { scanCache } from './scan-cache.js';
import type { CachedFile, CacheKey, GetOptions, Producer, SegmentStore } from './segment-store.js';

export interface SegmentStoreOptions {
  /** A directory of the cache's own; made when missing. */
  readonly dir: string;
  readonly maxBytes: number;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** After the bound is passed, eviction goes on to this part of it, so that not every commit has to evict. */
const EVICT_TO = 0.95;
/** When the disk is full although the bound is not reached. */
const EMERGENCY_EVICT_TO = 0.8;
/** A path given out or committed is opened within this time; an open descriptor outlives the removal of its name. */
const UNTOUCHABLE_MS = 10_000;
const TOUCH_EVERY_MS = 60_000;
const FULL_BELOW_BYTES = 16 * 1024 * 1024;

interface Running {
  readonly request: InFlightRequest;
  readonly assetId: string;
  readonly rendition: string;
  readonly done: Promise<void>;
}

/**
 * The segment store on a local disk. Nothing is fsynced, because everything in it can be made again; instead every file
 * carries the digest of its content in its name and is compared with it at first use after a start, so that what a power
 * loss left empty, short or zeroed is thrown away and made again.
 */
export const createSegmentStore = async (options: SegmentStoreOptions): Promise<SegmentStore> => {
  const { dir, maxBytes, logger, clock } = options;
  const temporaryDir = join(dir, 'tmp');
  await mkdir(temporaryDir, { recursive: true });
  // Its content only: the directory itself may already be mounted into the media processes.
  for (const name of await readdir(temporaryDir)) await rm(join(temporaryDir, name), { recursive: true, force: true });

  const index = createCacheIndex();
  for (const { path, digest, sizeBytes, lastUsedMs } of await scanCache(dir)) {
    index.put(path, { sizeBytes, digest, lastUsedMs, touchedMs: lastUsedMs, verified: false });
  }
  const inFlight = new Map<string, Running>();
  const running = new Set<Running>();
  const removed = new WeakSet<InFlightRequest>();
  let stopped = false;

  const nowMs = () => clock.now().getTime();
  const absolute = (path: string, digest: string) => join(dir, storedName(path, digest));
  const cachedFile = (path: string, entry: CacheEntry): CachedFile => ({
    path: absolute(path, entry.digest),
    sizeBytes: entry.sizeBytes,
    etag: `"${entry.digest}"`,
  });

  const discard = async (path: string): Promise<void> => {
    const entry = index.remove(path);
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
    // Only the order of a later eviction depends on it, and the file may have been evicted in between.
    utimes(absolute(path, entry.digest), atMs / 1000, atMs / 1000).catch(() => undefined);
  };

  /** Undefined when the file is not there or is not what was committed. */
  const lookUp = async (path: string): Promise<CachedFile | undefined> => {
    const entry = index.get(path);
    if (!entry) return undefined;
    const file = cachedFile(path, entry);
    // A synchronous stat of a hot name costs microseconds and notices a cache directory that was emptied by hand.
    if (statSync(file.path, { throwIfNoEntry: false })?.size !== entry.sizeBytes) {
      await discard(path);
      return undefined;
    }
    if (!entry.verified) {
      const digest = await readFile(file.path).then(digestOf, () => undefined);
      if (digest !== entry.digest) {
        logger.warn({ path }, 'a cached file is damaged and will be made again');
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

  const commit = async (request: InFlightRequest, key: CacheKey, bytes: Uint8Array): Promise<void> => {
    assertSafeKey(key);
    const path = keyPath(key);
    if (bytes.length === 0) throw new KinoraError('media_failed', { details: { key: path, reason: 'empty file' } });
    // What is already visible stays: a validator that was given out must not change.
    const present = await lookUp(path);
    if (present) return request.resolve(path, present);
    const digest = digestOf(bytes);
    const target = absolute(path, digest);
    // Beside its place, where no media process can write; the next start removes what a killed commit left.
    const unfinished = `${target}.${newUuid()}`;
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(unfinished, bytes);
      if (removed.has(request)) throw new KinoraError('not_found');
      // From here to `resolve` nothing is awaited, so of two productions of one key the first one stays.
      let entry = index.get(path);
      if (!entry) {
        renameSync(unfinished, target);
        const atMs = nowMs();
        entry = { sizeBytes: bytes.length, digest, lastUsedMs: atMs, touchedMs: atMs, verified: true };
        index.put(path, entry);
      }
      request.resolve(path, cachedFile(path, entry));
    } finally {
      await rm(unfinished, { force: true });
    }
    if (index.totalBytes > maxBytes) await evict(maxBytes * EVICT_TO);
  };

  /** A full disk shows itself in many ways (a media process only says that writing failed), so the disk is asked. */
  const explain = async (error: unknown): Promise<unknown> => {
    if (isKinoraError(error, 'cancelled')) return error;
    // Where the free space can't be told, the error itself has to say that the disk is full.
    const { bavail, bsize } = await statfs(dir).catch(() => ({ bavail: 1, bsize: FULL_BELOW_BYTES }));
    const full = isNoSpace(error) || bavail * bsize < FULL_BELOW_BYTES;
    if (!full) return error;
    const evicted = await evict(index.totalBytes * EMERGENCY_EVICT_TO);
    logger.error({ err: error, evicted_files: evicted }, 'the disk of the segment cache is full');
    return new KinoraError('unavailable', { cause: error, details: { stage: 'cache', evicted } });
  };

  const startRequest = (key: CacheKey, produce: Producer, covers: readonly CacheKey[]): InFlightRequest => {
    const request = createInFlightRequest();
    const paths = [key, ...covers].map(keyPath);
    const temporaries: string[] = [];
    const produceAll = async (): Promise<void> => {
      try {
        throwIfAborted(request.signal);
        await produce({
          signal: request.signal,
          temporaryPath: () => {
            const path = join(temporaryDir, newUuid());
            temporaries.push(path);
            return path;
          },
          commit: (committed, bytes) => commit(request, committed, bytes),
        });
        request.fail(new Error(`the production of ${paths[0]} ended without committing what is waited for`));
      } catch (error) {
        request.fail(await explain(error));
      } finally {
        for (const path of paths) if (inFlight.get(path)?.request === request) inFlight.delete(path);
        await Promise.all(temporaries.map((path) => rm(path, { recursive: true, force: true }))).catch(
          (error: unknown) => logger.warn({ err: error }, 'a temporary file of the segment cache could not be removed'),
        );
        running.delete(entry);
      }
    };
    const entry: Running = {
      request,
      assetId: key.assetId,
      rendition: key.rendition,
      // Starts in the next microtask, after `entry` and the first waiter exist.
      done: Promise.resolve().then(produceAll),
    };
    running.add(entry);
    for (const path of paths) {
      const other = inFlight.get(path);
      if (!other || other.request.abandoned) inFlight.set(path, entry);
    }
    return request;
  };

  /** Productions of what is removed can no longer commit. */
  const endInFlight = async (isRemoved: (entry: Running) => boolean): Promise<void> => {
    const ended = [...running].filter(isRemoved);
    for (const { request } of ended) {
      removed.add(request);
      request.abort(new KinoraError('not_found'));
    }
    // Whoever is just writing a file would make its directory again, or keep it from being removed.
    await Promise.all(ended.map(({ done }) => done));
  };

  if (index.totalBytes > maxBytes) await evict(maxBytes * EVICT_TO);
  logger.info(
    { dir, files: [...index.paths()].length, bytes: index.totalBytes, max_bytes: maxBytes },
    'segment cache open',
  );

  return {
    async get(key, produce, { signal, covers = [] }: GetOptions = {}) {
      assertSafeKey(key);
      const path = keyPath(key);
      const hit = await lookUp(path);
      if (hit) return hit;
      if (stopped) throw new KinoraError('unavailable');
      // From here to `wait` nothing is awaited, so two callers can't both find the place empty.
      const current = inFlight.get(path)?.request;
      const request = current && !current.abandoned ? current : startRequest(key, produce, covers);
      return request.wait(path, signal);
    },
    has: (key) => index.get(keyPath(key)) !== undefined,
    get totalBytes() {
      return index.totalBytes;
    },
    async removeAsset(assetId) {
      const prefix = `${assetPath(assetId)}/`;
      await endInFlight((entry) => entry.assetId === assetId);
      for (const path of [...index.paths()]) if (path.startsWith(prefix)) index.remove(path);
      // Again for a file of a request that came too late to be ended above.
      await rm(join(dir, assetPath(assetId)), { recursive: true, force: true, maxRetries: 5 });
    },
    async removeRendition(assetId, rendition) {
      await endInFlight((entry) => entry.assetId === assetId && entry.rendition === rendition);
      for (const path of [...index.paths()]) if (isOfRendition(path, assetId, rendition)) await discard(path);
    },
    async stop() {
      stopped = true;
      for (const { request } of running) request.abort(new KinoraError('unavailable'));
      await Promise.all([...running].map(({ done }) => done));
    },
  };
};

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32);

const isNoSpace = (error: unknown): boolean => {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOSPC' || /No space left on device/.test(cause.message))
      return true;
  }
  return false;
};
