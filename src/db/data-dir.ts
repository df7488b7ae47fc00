import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { KinoraError } from '../lib/errors.js';
import { makeDirectory } from '../lib/make-directory.js';

/** All permissions of the group and of others. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/**
 * Creates the data directory if it is missing.
 * @throws KinoraError `config_invalid`
 */
export const makeDataDir = async (dataDir: string): Promise<void> => {
  try {
    await makeDirectory(dataDir, 0o700);
  } catch (cause) {
    throw new KinoraError('config_invalid', {
      messages: [
        `The data directory ${dataDir} cannot be created; set KINORA_DATA_DIR (--data-dir) to a directory that this user can write to.`,
      ],
      cause,
    });
  }
};

interface LooseEntry {
  readonly path: string;
  readonly mode: number;
}

/**
 * Finds what other users of the machine can read or change: the data directory, its direct entries
 * and the files of the database. Sources and cached files are not checked one by one because their
 * directories are.
 */
export const findLooseModes = (dataDir: string): LooseEntry[] => {
  const database = join(dataDir, 'db');
  const paths = [
    dataDir,
    ...readdirSync(dataDir).map((name) => join(dataDir, name)),
    ...(existsSync(database) ? readdirSync(database, { recursive: true }) : []).map((name) =>
      join(database, String(name)),
    ),
  ];
  return paths.flatMap((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    const isLoose = stats && (stats.isFile() || stats.isDirectory()) && (stats.mode & OTHERS) !== 0;
    return isLoose ? [{ path, mode: stats.mode & 0o7777 }] : [];
  });
};

/**
 * Removes the permissions of group and others from everything that `findLooseModes` finds. Returns
 * the repaired entries, and those left unchanged because they belong to another user, such as a
 * mounted volume.
 * @throws KinoraError `config_invalid` when others can change an entry of the directory and this
 * user can't prevent it
 */
export const repairLooseModes = (dataDir: string): { repaired: LooseEntry[]; left: LooseEntry[] } => {
  const repaired: LooseEntry[] = [];
  const left: LooseEntry[] = [];
  for (const entry of findLooseModes(dataDir)) {
    try {
      chmodSync(entry.path, entry.mode & ~OTHERS);
      repaired.push(entry);
    } catch (cause) {
      if (entry.path !== dataDir && (entry.mode & OTHERS_WRITE) !== 0) {
        throw new KinoraError('config_invalid', {
          messages: [
            `Other users can change ${entry.path}, and this user can't change its permissions; run chmod go= on it as its owner.`,
          ],
          cause,
        });
      }
      left.push(entry);
    }
  }
  return { repaired, left };
};
