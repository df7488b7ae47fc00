import { constants, readFileSync } from 'node:fs';
import { open, readFile, rm, stat, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { newUuid } from '../../lib/ids.js';
import { syncPath } from '../../lib/sync-path.js';
import { ifPresent } from './if-present.js';
import { writeFully } from './write-fully.js';

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

/** Records how much of an unfinished file is known to be on the disk, even if the machine fails. */
export class SyncedRecord {
  readonly #path: string;
  #bytes: number;

  private constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
  }

  /**
   * Opens the record of the unfinished file `path`, which need not exist. If the machine has
   * restarted since the record was written, its memory may have been lost: bytes beyond the record
   * may be zeros, so they are cut off.
   */
  static async open(path: string): Promise<SyncedRecord> {
    const recordPath = path + RECORD_SUFFIX;
    const [bootId, recorded] = ((await ifPresent(readFile(recordPath, 'latin1'))) ?? '').split(' ');
    const storedBytes = (await ifPresent(stat(path)))?.size ?? 0;
    const recordedBytes = Number(recorded) || 0;
    const bytes = Math.min(recordedBytes, storedBytes);
    if (bootId !== BOOT_ID && storedBytes > bytes) await truncate(path, bytes);
    const record = new SyncedRecord(recordPath, recordedBytes);
    if (bootId !== BOOT_ID || recordedBytes !== bytes) await record.set(bytes);
    return record;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Resolves when the record itself is on the disk. Must be raised after the bytes are synced and
   * lowered before they change.
   */
  async set(bytes: number): Promise<void> {
    // Overwritten in place, within one sector: the disk has either the old record or the new one.
    const file = await open(this.#path, constants.O_WRONLY | constants.O_CREAT);
    try {
      await writeFully(file, Buffer.from(`${BOOT_ID} ${String(bytes).padStart(16, '0')}`), 0);
      // A lost record means that nothing is synced, which is also what a first record would say.
      if (bytes > 0 || this.#bytes > 0) await file.datasync();
    } finally {
      await file.close();
    }
    if (this.#bytes === 0 && bytes > 0) await syncPath(dirname(this.#path));
    this.#bytes = bytes;
  }

  remove(): Promise<void> {
    return rm(this.#path, { force: true });
  }
}
