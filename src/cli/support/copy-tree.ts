import { constants } from 'node:fs';
import { copyFile, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { makeDirectory } from '../../lib/make-directory.js';

interface CopyOptions {
  /** Names to leave out, relative to the tree. */
  readonly skip?: (path: string) => boolean;
  /** A server may remove files during the copy; missing ones are skipped. */
  readonly mayShrink?: boolean;
}

/**
 * Copies directories and files, accessible to the owner only; shares blocks if the file system can.
 */
export const copyTree = async (from: string, to: string, { skip, mayShrink }: CopyOptions = {}): Promise<void> => {
  const unlessGone = <T>(error: NodeJS.ErrnoException, instead: T): T => {
    if (mayShrink && error.code === 'ENOENT') return instead;
    throw error;
  };
  const copy = async (source: string, target: string): Promise<void> => {
    await makeDirectory(target, 0o700);
    const entries = await readdir(source, { withFileTypes: true }).catch((error) => unlessGone(error, []));
    for (const entry of entries) {
      const path = join(source, entry.name);
      if (skip?.(relative(from, path))) continue;
      if (entry.isDirectory()) await copy(path, join(target, entry.name));
      else if (entry.isFile())
        await copyFile(path, join(target, entry.name), constants.COPYFILE_FICLONE).catch((error) =>
          unlessGone(error, undefined),
        );
    }
  };
  await copy(from, to);
};
