import { readFile, rm, writeFile } from 'node:fs/promises';

/** Of the file beside an unfinished one that has holes. No key has a plus sign. */
export const HOLES_SUFFIX = '+holes';

/**
 * Says how many bytes from the start of an unfinished file are there, while its length does not tell: a file that is staged has
 * its final length from the beginning. Against the death of the process only; see `SyncedRecord` for that of the machine.
 */
export const openHoleRecord = (path: string) => {
  const recordPath = path + HOLES_SUFFIX;
  return {
    /** Undefined when the file has no holes. */
    read: async (): Promise<number | undefined> => {
      const text = await readFile(recordPath, 'latin1').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      return text === undefined ? undefined : Number(text) || 0;
    },
    /** One write of one length: readers find the old number or the new one. */
    set: (bytes: number): Promise<void> =>
      writeFile(recordPath, String(bytes).padStart(16, '0'), { flag: 'r+' }).catch(
        async (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error;
          await writeFile(recordPath, String(bytes).padStart(16, '0'));
        },
      ),
    remove: (): Promise<void> => rm(recordPath, { force: true }),
  };
};
