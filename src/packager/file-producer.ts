import { type CacheKey, keyPath } from '../cache/cache-key.js';
import type { CachedFile } from '../cache/cached-files.js';
import type { Production } from '../cache/productions.js';
import type { SegmentStore } from '../cache/segment-store.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError } from '../lib/errors.js';
import type { MediaPool, MediaPriority } from '../pool/media-pool.js';
import type { MediaJob, MediaResults } from '../pool/protocol.js';
import { CrashQuarantine } from './crash-quarantine.js';

type Pool = Pick<MediaPool, 'run' | 'promote'>;

export interface FileRequest {
  readonly key: CacheKey;
  /**
   * Other keys that `produce` also commits. Crashes of the whole group are counted under the first
   * key.
   */
  readonly keys: readonly CacheKey[];
  /** The file that is read. A file that repeatedly crashes media processes is rejected. */
  readonly source: string;
  readonly priority: MediaPriority;
  readonly signal?: AbortSignal | undefined;
  readonly packageFiles: (task: FileTask) => Promise<void>;
}

/** The running work for some keys, whose priority a later viewer can raise. */
export class FileTask {
  private job: MediaJob | undefined;

  constructor(
    readonly production: Production,
    private readonly pool: Pool,
    private currentPriority: MediaPriority,
  ) {}

  get priority(): MediaPriority {
    return this.currentPriority;
  }

  submit<J extends MediaJob>(job: J): Promise<MediaResults[J['kind']]> {
    this.job = job;
    return this.pool.run(job, { priority: this.priority, signal: this.production.signal });
  }

  raise(priority: MediaPriority): void {
    if (priority >= this.currentPriority) return;
    this.currentPriority = priority;
    if (this.job) this.pool.promote(this.job, priority);
  }
}

/** Produces files of the cache with media processes, one production per key at a time. */
export class FileProducer {
  private readonly crashes: CrashQuarantine;
  /** By the paths that they commit. */
  private readonly tasks = new Map<string, FileTask>();

  constructor(
    private readonly cache: SegmentStore,
    private readonly pool: Pool,
    clock: Clock,
  ) {
    this.crashes = new CrashQuarantine(clock);
  }

  /**
   * Returns the cached file, or the one that `produce` commits. A caller that waits for a file in
   * production raises its priority.
   * @throws KinoraError `media_failed`, `media_crashed`, `cancelled`, `unavailable`
   */
  get(request: FileRequest): Promise<CachedFile> {
    const { key, keys, priority, signal } = request;
    this.tasks.get(keyPath(key))?.raise(priority);
    const covers = keys.filter(({ file }) => file !== key.file);
    return this.cache.get(key, (production) => this.startTask(request, production), { signal, covers });
  }

  private async startTask(
    { keys, source, priority, packageFiles: produce }: FileRequest,
    production: Production,
  ): Promise<void> {
    const paths = keys.map(keyPath);
    this.crashes.check(source, paths[0]!);
    const task = new FileTask(production, this.pool, priority);
    for (const path of paths) this.tasks.set(path, task);
    try {
      await produce(task);
    } catch (error) {
      if (isKinoraError(error, 'media_crashed')) this.crashes.count(source, paths[0]!);
      throw error;
    } finally {
      for (const path of paths) if (this.tasks.get(path) === task) this.tasks.delete(path);
    }
  }
}
