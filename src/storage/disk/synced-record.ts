import { constants, readFileSync } from 'node:fs';
import { open, readFile, rm, stat, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { newUuid } from '../../lib/ids.js';
import { syncPath } from '../../lib/sync-path.js';
import { writeFully } from './write-fully.js';

/** Records how much of an unfinished file is known to be on the disk, even if the machine fails. */
export interface SyncedRecord {
  readonly bytes: number;
  /**
   * Resolves when the record itself is on the disk. Must be raised after the bytes are synced and lowered before they
   * change.
   */
  set(bytes: number): Promise<void>;
  remove(): Promise<void>;
}

/** The suffix of the record next to the unfinished file. No key contains a plus sign. */
export const RECORD_SUFFIX = '+synced';

const readBootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // On systems without such an ID, every start counts as one after a power failure.
    return newUuid();
  }
};
const BOOT_ID = readBootId();

const ifExists = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

/**
 * Opens the record of the unfinished file `path`, which need not exist. If the machine has restarted since the record
 * was written, its memory may have been lost: bytes beyond the record may be zeros, so they are cut off.
 */
export const openSyncedRecord = async (path: string): Promise<SyncedRecord> => {
  const recordPath = path + RECORD_SUFFIX;
  const [bootId, recorded] = ((await ifExists(readFile(recordPath, 'latin1'))) ?? '').split(' ');
  const storedBytes = (await ifExists(stat(path)))?.size ?? 0;
  let onDisk = Number(recorded) || 0;
  const bytes = Math.min(onDisk, storedBytes);
  if (bootId !== BOOT_ID && storedBytes > bytes) await truncate(path, bytes);

  const set = async (next: number): Promise<void> => {
    // Overwritten in place, within one sector: the disk has either the old record or the new one.
    const file = await open(recordPath, constants.O_WRONLY | constants.O_CREAT);
    try {
      await writeFully(file, Buffer.from(`${BOOT_ID} ${String(next).padStart(16, '0')}`), 0);
      // A lost record means that nothing is synced, which is also what a first record would say.
      if (next > 0 || onDisk > 0) await file.datasync();
    } finally {
      await file.close();
    }
    if (onDisk === 0 && next > 0) await syncPath(dirname(path));
    onDisk = next;
  };
  if (bootId !== BOOT_ID || onDisk !== bytes) await set(bytes);

  return {
    get bytes() {
      return onDisk;
    },
    set,
    remove: () => rm(recordPath, { force: true }),
  };
};
