import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { KinoraError } from '../../lib/errors.js';
import { makeDirectory } from '../../lib/make-directory.js';
import type { LocalWrite } from '../blob-store.js';
import { DiskBlobWrite, type Publisher, STAGED_SUFFIX } from './disk-blob-write.js';
import { HOLES_SUFFIX } from './hole-record.js';
import { ifPresent } from './if-present.js';
import { MISSING_SUFFIX } from './missing-record.js';
import { safePath } from './safe-path.js';
import { RECORD_SUFFIX, SyncedRecord } from './synced-record.js';

const RECORD_SUFFIXES = [RECORD_SUFFIX, HOLES_SUFFIX, MISSING_SUFFIX];

const nameOf = (key: string): string => key.replaceAll('/', '~');

/**
 * The writes of a blob store until they are committed: files in the flat directory `.partial` below
 * the root (`/` becomes `~`, which no key contains), each with a record of how much of it is
 * synced.
 */
export class UnfinishedWrites {
  readonly #root: string;
  readonly #dir: string;
  readonly #publisherOf: (key: string, path: string) => Publisher;
  readonly #openPaths = new Set<string>();

  constructor(rootDir: string, publisherOf: (key: string, path: string) => Publisher) {
    this.#root = resolve(rootDir);
    this.#dir = join(this.#root, '.partial');
    this.#publisherOf = publisherOf;
  }

  /** A write that does not resume starts empty, and nothing continues what it leaves. */
  async open(key: string, { resumes }: { resumes: boolean }): Promise<LocalWrite> {
    safePath(this.#root, key);
    const path = join(this.#dir, nameOf(key) + (resumes ? '' : '+'));
    if (this.#openPaths.has(path))
      throw new KinoraError('unavailable', { details: { stage: 'blob is being written', key } });
    this.#openPaths.add(path);
    try {
      await makeDirectory(this.#dir);
      const synced = resumes ? await SyncedRecord.open(path) : undefined;
      const publisher = this.#publisherOf(key, path);
      return await DiskBlobWrite.open({ path, synced, publisher, onEnd: () => this.#openPaths.delete(path) });
    } catch (error) {
      this.#openPaths.delete(path);
      throw error;
    }
  }

  /** Removes those below `prefix` (a whole key segment). */
  async discard(prefix: string): Promise<void> {
    const start = `${nameOf(prefix)}~`;
    await this.#remove((name) => name.startsWith(start));
  }

  /** Removes those whose key is not in `needed`, and returns how many. */
  sweep(needed: ReadonlySet<string>): Promise<number> {
    const names = new Set(
      [...needed].map(nameOf).flatMap((name) => [name, ...RECORD_SUFFIXES.map((suffix) => name + suffix)]),
    );
    return this.#remove((name) => !names.has(name));
  }

  /**
   * Returns the number of removed writes, without their records; the name of a `put` ends with a
   * plus sign.
   */
  async #remove(isUnwanted: (name: string) => boolean): Promise<number> {
    const names = ((await ifPresent(readdir(this.#dir))) ?? []).filter(isUnwanted);
    for (const name of names) await rm(join(this.#dir, name), { force: true });
    return names.filter((name) => ![...RECORD_SUFFIXES, STAGED_SUFFIX].some((suffix) => name.endsWith(suffix))).length;
  }
}
