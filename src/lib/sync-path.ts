import { open } from 'node:fs/promises';

/** Resolves when the file, or the names in the directory, would survive a power failure. */
export const syncPath = async (path: string): Promise<void> => {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
