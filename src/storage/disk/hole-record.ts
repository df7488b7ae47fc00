import { readFile, rm, writeFile } from 'node:fs/promises';

/** The suffix of the record next to an unfinished file with holes. No key contains a plus sign. */
export const HOLES_SUFFIX = '+holes';

/**
 * Records how many bytes from the start of an unfinished file are present. The length of a staged file does not tell,
 * because it is final from the beginning. Survives the death of the process only; see `SyncedRecord` for failures of
 * the machine.
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
    /** One write of fixed length: readers see either the old number or the new one. */
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
