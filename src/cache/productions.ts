import { rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfAborted } from '../lib/abort.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { newUuid } from '../lib/ids.js';
import { isNoSpace, noSpaceError } from '../lib/no-space.js';
import type { Logger } from '../telemetry/logger.js';
import { assertSafeKey, type CacheKey, keyPath } from './cache-key.js';
import type { CachedFiles } from './cached-files.js';
import { InFlightRequest } from './in-flight-request.js';

export type Producer = (production: Production) => Promise<void>;

// The parameter of callbacks that tests call with productions of their own.
export interface Production {
  /** Aborts when nobody waits for any result of this production any more, or a little later. */
  readonly signal: AbortSignal;
  /**
   * Returns a new path in the directory that media processes write to. Remaining files are removed
   * afterwards.
   */
  temporaryPath(): string;
  /**
   * Makes the verified bytes visible under `key` and resolves every wait for it. It takes bytes and
   * not a file, because the process that wrote a file may be able to change it after verification.
   */
  commit(key: CacheKey, bytes: Uint8Array): Promise<void>;
}

/** The eviction target when the disk is full although the cache is below its limit. */
const EMERGENCY_EVICT_TO = 0.8;
const FULL_BELOW_BYTES = 16 * 1024 * 1024;

/** A source that is copied to this machine may lack space on another disk than the cache. */
const NO_SPACE_ADVICE =
  'no space for a file: delete files from the disk of the cache, or from the one that the error names';

interface ProductionsOptions {
  readonly files: CachedFiles;
  /** The cache directory. */
  readonly dir: string;
  /** The directory that media processes write to. */
  readonly temporaryDir: string;
  readonly logger: Logger;
}

interface Running {
  readonly request: InFlightRequest;
  readonly key: CacheKey;
  readonly done: Promise<void>;
}

/** The running productions of the cache. */
export class Productions {
  /** The production of each path that new callers may join. */
  private readonly inFlight = new Map<string, Running>();
  private readonly running = new Set<Running>();
  /** Requests whose key was removed: they can no longer commit. */
  private readonly removed = new WeakSet<InFlightRequest>();

  constructor(private readonly options: ProductionsOptions) {}

  /** The running production that a new caller may wait for. */
  find(path: string): InFlightRequest | undefined {
    const request = this.inFlight.get(path)?.request;
    return request?.isAbandoned ? undefined : request;
  }

  /** `covers` lists the other keys that this production commits. */
  start(key: CacheKey, produce: Producer, covers: readonly CacheKey[]): InFlightRequest {
    const request = new InFlightRequest();
    const paths = [key, ...covers].map(keyPath);
    const production: Running = {
      request,
      key,
      // Starts in the next microtask, after `production` and the first waiter exist.
      done: Promise.resolve()
        .then(() => this.execute(request, paths, produce))
        .finally(() => this.running.delete(production)),
    };
    this.running.add(production);
    for (const path of paths) {
      const other = this.inFlight.get(path);
      if (!other || other.request.isAbandoned) this.inFlight.set(path, production);
    }
    return request;
  }

  /** Ends productions of removed keys, which can no longer commit, and waits for them. */
  async endRemoved(isRemoved: (key: CacheKey) => boolean, error = new KinoraError('not_found')): Promise<void> {
    const ended = [...this.running].filter(({ key }) => isRemoved(key));
    for (const { request } of ended) {
      this.removed.add(request);
      request.abort(error);
    }
    // A production that is still writing would create the directory again, or prevent its removal.
    await Promise.all(ended.map(({ done }) => done));
  }

  async stop(): Promise<void> {
    for (const { request } of this.running) request.abort(new KinoraError('unavailable'));
    await Promise.all([...this.running].map(({ done }) => done));
  }

  private async execute(request: InFlightRequest, paths: readonly string[], produce: Producer): Promise<void> {
    const { files, temporaryDir } = this.options;
    const temporaries: string[] = [];
    try {
      throwIfAborted(request.signal);
      await produce({
        signal: request.signal,
        temporaryPath: () => {
          const path = join(temporaryDir, newUuid());
          temporaries.push(path);
          return path;
        },
        commit: async (key, bytes) => {
          assertSafeKey(key);
          const isRemoved = () => this.removed.has(request);
          await files.commit(key, bytes, isRemoved, (path, file) => request.resolve(path, file));
        },
      });
      request.fail(new Error(`the production of ${paths[0]} ended without committing what is waited for`));
    } catch (error) {
      request.fail(await this.explain(error));
    } finally {
      for (const path of paths) if (this.inFlight.get(path)?.request === request) this.inFlight.delete(path);
      await this.removeTemporaries(temporaries);
    }
  }

  /**
   * A full disk shows up in many ways (a media process only reports that writing failed), so the
   * free space is checked.
   */
  private async explain(error: unknown): Promise<unknown> {
    const { files, dir, logger } = this.options;
    if (isKinoraError(error, 'cancelled')) return error;
    // If the free space is unknown, the error itself has to say that the disk is full.
    const { bavail, bsize } = await statfs(dir).catch(() => ({ bavail: 1, bsize: FULL_BELOW_BYTES }));
    const full = isNoSpace(error) || bavail * bsize < FULL_BELOW_BYTES;
    if (!full) return error;
    const evicted = await files.evict(files.totalBytes * EMERGENCY_EVICT_TO);
    logger.error({ err: error, cache: dir, evicted_files: evicted }, NO_SPACE_ADVICE);
    return noSpaceError(error, { stage: 'cache', evicted });
  }

  private async removeTemporaries(paths: readonly string[]): Promise<void> {
    try {
      await Promise.all(paths.map((path) => rm(path, { recursive: true, force: true })));
    } catch (error) {
      this.options.logger.warn({ err: error }, 'temporary cache file not removed');
    }
  }
}
