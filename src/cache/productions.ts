import { rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfAborted } from '../lib/abort.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { newUuid } from '../lib/ids.js';
import { isNoSpace } from '../lib/no-space.js';
import type { Logger } from '../telemetry/logger.js';
import { assertSafeKey, keyPath } from './cache-path.js';
import type { CachedFiles } from './cached-files.js';
import { createInFlightRequest, type InFlightRequest } from './in-flight.js';
import type { CacheKey, Producer } from './segment-store.js';

/** The eviction target when the disk is full although the cache is below its limit. */
const EMERGENCY_EVICT_TO = 0.8;
const FULL_BELOW_BYTES = 16 * 1024 * 1024;

interface Running {
  readonly request: InFlightRequest;
  readonly key: CacheKey;
  readonly done: Promise<void>;
}

export interface ProductionOptions {
  readonly files: CachedFiles;
  /** The cache directory. */
  readonly dir: string;
  /** The directory that media processes write to. */
  readonly temporaryDir: string;
  readonly logger: Logger;
}

/** The running productions of the cache. */
export interface Productions {
  /** The running production that a new caller may wait for. */
  find(path: string): InFlightRequest | undefined;
  /** `covers` lists the other keys that this production commits. */
  start(key: CacheKey, produce: Producer, covers: readonly CacheKey[]): InFlightRequest;
  /** Ends productions of removed keys, which can no longer commit, and waits for them. */
  endRemoved(isRemoved: (key: CacheKey) => boolean, error?: KinoraError): Promise<void>;
  stop(): Promise<void>;
}

/** A source that is copied to this machine may lack space on another disk than the cache. */
const NO_SPACE_ADVICE =
  'no space for a file: delete files from the disk of the cache, or from the one that the error names';

export const createProductions = ({ files, dir, temporaryDir, logger }: ProductionOptions): Productions => {
  const inFlight = new Map<string, Running>();
  const running = new Set<Running>();
  const removed = new WeakSet<InFlightRequest>();

  /**
   * A full disk shows up in many ways (a media process only reports that writing failed), so the free space is
   * checked.
   */
  const explain = async (error: unknown): Promise<unknown> => {
    if (isKinoraError(error, 'cancelled')) return error;
    // If the free space is unknown, the error itself has to say that the disk is full.
    const { bavail, bsize } = await statfs(dir).catch(() => ({ bavail: 1, bsize: FULL_BELOW_BYTES }));
    const full = isNoSpace(error) || bavail * bsize < FULL_BELOW_BYTES;
    if (!full) return error;
    const evicted = await files.evict(files.totalBytes * EMERGENCY_EVICT_TO);
    logger.error({ err: error, cache: dir, evicted_files: evicted }, NO_SPACE_ADVICE);
    return new KinoraError('unavailable', { cause: error, details: { stage: 'cache', evicted } });
  };

  const start = (key: CacheKey, produce: Producer, covers: readonly CacheKey[]): InFlightRequest => {
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
          commit: async (committed, bytes) => {
            assertSafeKey(committed);
            const isRemoved = () => removed.has(request);
            await files.commit(committed, bytes, isRemoved, (path, file) => request.resolve(path, file));
          },
        });
        request.fail(new Error(`the production of ${paths[0]} ended without committing what is waited for`));
      } catch (error) {
        request.fail(await explain(error));
      } finally {
        for (const path of paths) if (inFlight.get(path)?.request === request) inFlight.delete(path);
        await Promise.all(temporaries.map((path) => rm(path, { recursive: true, force: true }))).catch(
          (error: unknown) => logger.warn({ err: error }, 'temporary cache file not removed'),
        );
        running.delete(entry);
      }
    };
    const entry: Running = {
      request,
      key,
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

  return {
    find: (path) => {
      const request = inFlight.get(path)?.request;
      return request?.abandoned ? undefined : request;
    },
    start,
    endRemoved: async (isRemoved, error = new KinoraError('not_found')) => {
      const ended = [...running].filter(({ key }) => isRemoved(key));
      for (const { request } of ended) {
        removed.add(request);
        request.abort(error);
      }
      // A production that is still writing would create the directory again, or prevent its removal.
      await Promise.all(ended.map(({ done }) => done));
    },
    stop: async () => {
      for (const { request } of running) request.abort(new KinoraError('unavailable'));
      await Promise.all([...running].map(({ done }) => done));
    },
  };
};
