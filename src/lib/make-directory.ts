import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a directory, and its parents, unless it exists. `mkdir` with `recursive` is no
 * substitute: on a full disk it fails with ENOENT instead of ENOSPC, and it loops forever where a
 * file system fails with ENOENT, as /proc does.
 */
export const makeDirectory = async (path: string, mode = 0o777): Promise<void> => {
  const parent = dirname(path);
  if (!existsSync(parent)) await makeDirectory(parent, mode);
  await mkdir(path, { mode }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  });
};
