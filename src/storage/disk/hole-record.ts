import { readFile, rm, writeFile } from 'node:fs/promises';
import { ifPresent } from './if-present.js';

/** The suffix of the record next to an unfinished file with holes. No key contains a plus sign. */
export const HOLES_SUFFIX = '+holes';

/**
 * Records how many bytes from the start of an unfinished file are present. The length of a staged
 * file does not tell, because it is final from the beginning. Survives the death of the process
 * only; see `SyncedRecord` for failures of the machine.
 */
export class HoleRecord {
  readonly #path: string;

  /** @param path of the unfinished file */
  constructor(path: string) {
    this.#path = path + HOLES_SUFFIX;
  }

  /** Undefined when the file has no holes. */
  async read(): Promise<number | undefined> {
    const text = await ifPresent(readFile(this.#path, 'latin1'));
    return text === undefined ? undefined : Number(text) || 0;
  }

  /** One write of fixed length: readers see either the old number or the new one. */
  async set(bytes: number): Promise<void> {
    const text = String(bytes).padStart(16, '0');
    await writeFile(this.#path, text, { flag: 'r+' }).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      await writeFile(this.#path, text);
    });
  }

  remove(): Promise<void> {
    return rm(this.#path, { force: true });
  }
}
