import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../../lib/sync-path.js';

/**
 * The first start stores its token here, so that the command line works on the same machine without
 * setup.
 */
export const localTokenPath = (dataDir: string): string => join(dataDir, 'token');

/**
 * `token` is `id:secret`; only the owner may read the file. Resolves when the file would survive a
 * power failure.
 */
export const writeLocalToken = async (dataDir: string, token: string): Promise<void> => {
  await writeFile(localTokenPath(dataDir), `${token}\n`, { mode: 0o600, flush: true });
  await syncPath(dataDir);
};

/** Undefined when there is none. */
export const readLocalToken = async (dataDir: string): Promise<string | undefined> => {
  try {
    return (await readFile(localTokenPath(dataDir), 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
