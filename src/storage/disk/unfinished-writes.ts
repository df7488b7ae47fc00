import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { KinoraError } from '../../lib/errors.js';
import { makeDirectory } from '../../lib/make-directory.js';
import type { BlobWrite } from '../blob-store.js';
import { openDiskBlobWrite, STAGED_SUFFIX } from './disk-blob-write.js';
import { HOLES_SUFFIX } from './hole-record.js';
import { ifPresent } from './if-present.js';
import { safePath } from './safe-path.js';
import { openSyncedRecord, RECORD_SUFFIX } from './synced-record.js';

const RECORD_SUFFIXES = [RECORD_SUFFIX, HOLES_SUFFIX];

/** Where a finished write goes. */
export interface Publisher {
  /** Called with the number of bytes in the file, whenever there are more or the write starts again. */
  onStored?(storedBytes: number): void;
  /** Does what takes time before `publish`, while the file can still be read. */
  readonly settle?: () => Promise<void>;
  /** Makes the complete and synced file visible; it may be moved. */
  publish(): Promise<void>;
  /** Called once when the write ends in any way. */
  onEnd?(): void;
}

export interface UnfinishedWrites {
  /** A write that does not resume starts empty, and nothing continues what it leaves. */
  open(key: string, options: { resumes: boolean }): Promise<BlobWrite>;
  /** Removes those below `prefix` (a whole key segment). */
  discard(prefix: string): Promise<void>;
  /** Removes those whose key is not in `needed`, and returns how many. */
  sweep(needed: ReadonlySet<string>): Promise<number>;
}

/**
 * The writes of a blob store until they are committed: files in the flat directory `.partial` below `rootDir` (`/`
 * becomes `~`, which no key contains), each with a record of how much of it is synced.
 */
export const createUnfinishedWrites = (
  rootDir: string,
  publisherOf: (key: string, path: string) => Publisher,
): UnfinishedWrites => {
  const root = resolve(rootDir);
  const partialDir = join(root, '.partial');
  const writing = new Set<string>();

  const nameOf = (key: string): string => key.replaceAll('/', '~');

  /** Returns the number of removed writes, without their records; the name of a `put` ends with a plus sign. */
  const remove = async (isUnwanted: (name: string) => boolean): Promise<number> => {
    const names = ((await ifPresent(readdir(partialDir))) ?? []).filter(isUnwanted);
    for (const name of names) await rm(join(partialDir, name), { force: true });
    return names.filter((name) => ![...RECORD_SUFFIXES, STAGED_SUFFIX].some((suffix) => name.endsWith(suffix))).length;
  };

  return {
    open: async (key, { resumes }) => {
      safePath(root, key);
      const path = join(partialDir, nameOf(key) + (resumes ? '' : '+'));
      if (writing.has(path)) throw new KinoraError('unavailable', { details: { stage: 'blob is being written', key } });
      writing.add(path);
      try {
        await makeDirectory(partialDir);
        const synced = resumes ? await openSyncedRecord(path) : undefined;
        const publisher = publisherOf(key, path);
        return await openDiskBlobWrite({
          path,
          synced,
          onStored: (storedBytes) => publisher.onStored?.(storedBytes),
          settle: publisher.settle,
          publish: () => publisher.publish(),
          onEnd: () => {
            writing.delete(path);
            publisher.onEnd?.();
          },
        });
      } catch (error) {
        writing.delete(path);
        throw error;
      }
    },
    discard: async (prefix) => {
      const flat = `${nameOf(prefix)}~`;
      await remove((name) => name.startsWith(flat));
    },
    sweep: (needed) => {
      const names = new Set(
        [...needed].map(nameOf).flatMap((name) => [name, ...RECORD_SUFFIXES.map((suffix) => name + suffix)]),
      );
      return remove((name) => !names.has(name));
    },
  };
};
