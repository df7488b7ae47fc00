import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncPath } from '../../lib/sync-path.js';
import { ifPresent } from './if-present.js';

/** The suffix of the record next to an unfinished file. No key contains a plus sign. */
export const MISSING_SUFFIX = '+missing';

/**
 * Records that an unfinished file lacks everything up to a position. A record that is older than
 * the file, because a removal was lost in a power failure, costs another fetch of the same bytes.
 */
export class MissingRecord {
  readonly #path: string;

  /** @param path of the unfinished file */
  constructor(path: string) {
    this.#path = path + MISSING_SUFFIX;
  }

  /** 0 when nothing is missing. */
  async read(): Promise<number> {
    return Number((await ifPresent(readFile(this.#path, 'latin1'))) ?? 0) || 0;
  }

  /** Resolves when the record is on the disk. The file must be empty: half a record means none. */
  async set(bytes: number): Promise<void> {
    await writeFile(this.#path, String(bytes), { flush: true });
    await syncPath(dirname(this.#path));
  }

  remove(): Promise<void> {
    return rm(this.#path, { force: true });
  }
}
