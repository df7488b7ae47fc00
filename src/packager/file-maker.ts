import { keyPath } from '../cache/cache-path.js';
import type { CachedFile, CacheKey, Production, SegmentStore } from '../cache/segment-store.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError } from '../lib/errors.js';
import type { MediaPool, MediaPriority } from '../pool/media-pool.js';
import type { MediaJob, MediaResults } from '../pool/protocol.js';
import { createCrashQuarantine } from './crash-quarantine.js';

/** What runs for a key, so that a viewer who arrives later can raise it. */
export interface Work {
  readonly priority: MediaPriority;
  readonly production: Production;
  run<J extends MediaJob>(job: J): Promise<MediaResults[J['kind']]>;
}

export interface FileOrder {
  readonly key: CacheKey;
  /** Others that `produce` commits as well. The first of all keys names what crashes as a whole. */
  readonly keys: readonly CacheKey[];
  /** The file that is read; one that kills media processes again and again is refused. */
  readonly source: string;
  readonly priority: MediaPriority;
  readonly signal?: AbortSignal;
  produce(work: Work): Promise<void>;
}

export interface FileMaker {
  /**
   * The cached file, or what `produce` commits for it. Who waits for a file that is being made with less priority raises it.
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
