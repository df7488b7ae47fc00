import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KinoraError } from '../lib/errors.js';
import { makeDirectory } from '../lib/make-directory.js';
import { assertSafeKey, assetOf, assetPath, type CacheKey, isOfRendition, keyPath, renditionOf } from './cache-key.js';
import { type CachedFile, CachedFiles, type CachedFilesOptions } from './cached-files.js';
import { type Producer, Productions } from './productions.js';

export interface GetOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Other keys that `produce` also commits: callers that request one of them wait for this
   * production.
   */
  readonly covers?: readonly CacheKey[];
}

/**
 * The size-limited cache of everything that is computed on request, on a local disk. There is one
 * production per key, however many callers wait. A file becomes visible only after it was verified
 * and renamed, so a reader sees a whole segment or none.
 *
 * Nothing is fsynced, because every file can be encoded again. Instead, every file name contains
 * the digest of the content, which is checked at the first use after a start. Files that a power
 * loss left empty, short or zeroed are discarded.
 */
export class SegmentStore {
  private isStopped = false;

  /** `dir` is used by the cache alone and created if missing. */
  static async open(options: CachedFilesOptions): Promise<SegmentStore> {
    const { dir, maxBytes, logger } = options;
    const temporaryDir = join(dir, 'tmp');
    await makeDirectory(temporaryDir);
    // Removes only its content: the directory itself may already be mounted into the media
    // processes.
    for (const name of await readdir(temporaryDir))
      await rm(join(temporaryDir, name), { recursive: true, force: true });
    const files = await CachedFiles.open(options);
    const productions = new Productions({ files, dir, temporaryDir, logger });
    logger.info(
      { dir, files: [...files.paths()].length, bytes: files.totalBytes, max_bytes: maxBytes },
      'segment cache opened',
    );
    return new SegmentStore(dir, files, productions);
  }

  private constructor(
    private readonly dir: string,
    private readonly files: CachedFiles,
    private readonly productions: Productions,
  ) {}

  get totalBytes(): number {
    return this.files.totalBytes;
  }

  /**
   * Returns the cached file, or the result of `produce`. A caller that aborts ends only its own
   * wait. When nobody waits, the production is cancelled; one that has run for more than five
   * seconds goes on for five more. `produce` must call `commit` for `key` before it returns, and
   * may do so for other keys that it covers.
   * @throws KinoraError `cancelled`, `not_found` (the asset has been removed in the meantime),
   * `unavailable` (disk full, stopping) and whatever `produce` throws
   */
  async get(key: CacheKey, produce: Producer, { signal, covers = [] }: GetOptions = {}): Promise<CachedFile> {
    assertSafeKey(key);
    const path = keyPath(key);
    const hit = await this.files.find(path);
    if (hit) return hit;
    if (this.isStopped) throw new KinoraError('unavailable');
    // Nothing is awaited from here to `wait`, so two callers can't both start a production.
    return (this.productions.find(path) ?? this.productions.start(key, produce, covers)).wait(path, signal);
  }

  has(key: CacheKey): boolean {
    return this.files.has(keyPath(key));
  }

  /** The assets that something is stored of. */
  assetIds(): ReadonlySet<string> {
    return new Set([...this.files.paths()].map(assetOf));
  }

  /**
   * Removes everything of an asset; productions that still run for it can no longer commit. Callers
   * that wait for one get `error`, by default `not_found`.
   */
  async removeAsset(assetId: string, error?: KinoraError): Promise<void> {
    const prefix = `${assetPath(assetId)}/`;
    await this.productions.endRemoved((key) => key.assetId === assetId, error);
    for (const path of [...this.files.paths()]) if (path.startsWith(prefix)) this.files.forget(path);
    // Repeated for a file whose request came too late to be ended above.
    await rm(join(this.dir, assetPath(assetId)), { recursive: true, force: true, maxRetries: 5 });
  }

  /** Deletes the files of one rendition of an asset. */
  async removeRendition(assetId: string, rendition: string): Promise<void> {
    await this.productions.endRemoved((key) => key.assetId === assetId && key.rendition === rendition);
    for (const path of [...this.files.paths()])
      if (isOfRendition(path, assetId, rendition)) await this.files.discard(path);
  }

  /** Deletes the files of all renditions that are not wanted. */
  async removeRenditions(isUnwanted: (assetId: string, rendition: string) => boolean): Promise<void> {
    await this.productions.endRemoved((key) => isUnwanted(key.assetId, key.rendition));
    for (const path of [...this.files.paths()])
      if (isUnwanted(assetOf(path), renditionOf(path))) await this.files.discard(path);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.productions.stop();
    this.files.stop();
  }
}
