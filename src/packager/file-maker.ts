import { keyPath } from '../cache/cache-path.js';
import type { CachedFile, CacheKey, Production, SegmentStore } from '../cache/segment-store.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError } from '../lib/errors.js';
import type { MediaPool, MediaPriority } from '../pool/media-pool.js';
import type { MediaJob, MediaResults } from '../pool/protocol.js';
import { createCrashQuarantine } from './crash-quarantine.js';

/** The running work for a key, so that a later viewer can raise its priority. */
export interface Work {
  readonly priority: MediaPriority;
  readonly production: Production;
  run<J extends MediaJob>(job: J): Promise<MediaResults[J['kind']]>;
}

export interface FileOrder {
  readonly key: CacheKey;
  /** Other keys that `produce` also commits. Crashes of the whole group are counted under the first key. */
  readonly keys: readonly CacheKey[];
  /** The file that is read. A file that repeatedly crashes media processes is refused. */
  readonly source: string;
  readonly priority: MediaPriority;
  readonly signal?: AbortSignal;
  produce(work: Work): Promise<void>;
}

export interface FileMaker {
  /**
   * Returns the cached file, or the one that `produce` commits. A caller that waits for a file in production raises
   * its priority.
   * @throws KinoraError `media_failed`, `media_crashed`, `cancelled`, `unavailable`
   */
  make(order: FileOrder): Promise<CachedFile>;
}

/** Makes files with media processes, one production per key at a time. */
export const createFileMaker = (deps: { store: SegmentStore; pool: MediaPool; clock: Clock }): FileMaker => {
  const { store, pool, clock } = deps;
  const crashes = createCrashQuarantine(clock);
  const works = new Map<string, { priority: MediaPriority; job?: MediaJob }>();

  return {
    make({ key, keys, source, priority, signal, produce }) {
      const waiting = works.get(keyPath(key));
      if (waiting && priority < waiting.priority) {
        waiting.priority = priority;
        if (waiting.job) pool.promote(waiting.job, priority);
      }
      const produceOnce = async (production: Production): Promise<void> => {
        const name = keyPath(keys[0]!);
        crashes.check(source, name);
        const current: { priority: MediaPriority; job?: MediaJob } = { priority };
        for (const each of keys) works.set(keyPath(each), current);
        const work: Work = {
          production,
          get priority() {
            return current.priority;
          },
          run: (job) => {
            current.job = job;
            return pool.run(job, { priority: current.priority, signal: production.signal });
          },
        };
        try {
          await produce(work);
        } catch (error) {
          if (isKinoraError(error, 'media_crashed')) crashes.count(source, name);
          throw error;
        } finally {
          for (const each of keys) if (works.get(keyPath(each)) === current) works.delete(keyPath(each));
        }
      };
      const covers = keys.filter(({ file }) => file !== key.file);
      return store.get(key, produceOnce, { ...(signal && { signal }), covers });
    },
  };
};
