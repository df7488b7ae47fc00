import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from './ids.js';

/**
 * Provides a path that a media process can write to, and removes what was written there, however
 * `work` ends.
 */
export const withTemporaryFile = async <T>(dir: string, task: (path: string) => Promise<T>): Promise<T> => {
  const path = join(dir, `job-${newId()}`);
  try {
    return await task(path);
  } finally {
    // A process under the control of a malicious file may have left a directory.
    await rm(path, { recursive: true, force: true });
  }
};
