import { rm } from 'node:fs/promises';
import type { ByteRanges } from '../../lib/byte-ranges.js';
import { isKinoraError } from '../../lib/errors.js';
import { makeDirectory } from '../../lib/make-directory.js';
import type { LocalBlob } from '../blob-store.js';
import { type CopiedObjects, type CopySlot, LocalCopy } from './local-copy.js';
import type { ObjectInfo } from './object-client.js';

export interface LocalCopiesOptions {
  readonly objects: CopiedObjects;
  /** Emptied at the start: what its files lack is known in memory only. */
  readonly dir: string;
  /** Copies in use may exceed it. */
  readonly maxBytes: number;
}

interface Entry {
  readonly opening: Promise<LocalCopy>;
  /** Once it exists. */
  copy?: LocalCopy;
}

/**
 * Parts of objects as files with holes, for media processes. The least recently used ones are
 * removed.
 */
export class LocalCopies {
  readonly #options: LocalCopiesOptions;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** What copies take on the disk, in the order in which they were first read. */
  readonly #sizes = new Map<LocalCopy, number>();
  #lastVersion = 0;

  private constructor(options: LocalCopiesOptions) {
    this.#options = options;
  }

  static async open(options: LocalCopiesOptions): Promise<LocalCopies> {
    await rm(options.dir, { recursive: true, force: true });
    await makeDirectory(options.dir);
    return new LocalCopies(options);
  }

  /** @throws KinoraError `not_found`, `unavailable` */
  async open(key: string, needed: ByteRanges | undefined): Promise<LocalBlob> {
    const { entry, copy } = await this.#acquire(key, needed);
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      await copy.release();
      await this.#evict();
    };
    const { path, blocks } = copy;
    if (!blocks) return { path, release };
    try {
      const ranges = blocks.widen(needed ?? [{ start: 0, end: copy.sizeBytes }]);
      await blocks.load(ranges);
      this.#sizes.set(copy, blocks.fetchedBytes);
      await this.#evict();
      return { path, staged: needed && { ranges, version: copy.version }, release };
    } catch (error) {
      // The object was replaced or deleted: the next reader asks for it again.
      if (isKinoraError(error) && (error.code === 'not_found' || error.details?.status === 412))
        await this.#forget(key, entry);
      await release();
      throw error;
    }
  }

  /** Takes over a file with all bytes of the object. */
  async adopt(key: string, path: string, { sizeBytes }: ObjectInfo): Promise<void> {
    const old = this.#entries.get(key);
    const copy = await LocalCopy.adopt(path, sizeBytes, this.#newPlace());
    this.#entries.set(key, { opening: Promise.resolve(copy), copy });
    this.#sizes.set(copy, sizeBytes);
    if (old) await this.#forget(key, old);
    await this.#evict();
  }

  /** The objects whose keys match have changed or are deleted. */
  async forget(matches: (key: string) => boolean): Promise<void> {
    const matching = [...this.#entries].filter(([key]) => matches(key));
    await Promise.all(matching.map(([key, entry]) => this.#forget(key, entry)));
  }

  #newPlace(): CopySlot {
    this.#lastVersion += 1;
    const onDeleted = (copy: LocalCopy): void => void this.#sizes.delete(copy);
    return { dir: this.#options.dir, version: this.#lastVersion, onDeleted };
  }

  /** The copy of `key`, leased; it is created if there is none. */
  async #acquire(key: string, needed: ByteRanges | undefined): Promise<{ entry: Entry; copy: LocalCopy }> {
    for (;;) {
      const entry = this.#entries.get(key) ?? {
        opening: LocalCopy.create(this.#options.objects, key, needed, this.#newPlace()),
      };
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      const copy = await entry.opening.catch((error: unknown) => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
        throw error;
      });
      entry.copy = copy;
      // Otherwise it was removed while this waited.
      if (copy.isForgotten) continue;
      copy.acquire();
      return { entry, copy };
    }
  }

  async #forget(key: string, entry: Entry): Promise<void> {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    const copy = await entry.opening.catch(() => undefined);
    await copy?.forget();
  }

  /** A viewer waits for it, so it waits for no request. */
  async #evict(): Promise<void> {
    let total = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [key, entry] of [...this.#entries]) {
      if (total <= this.#options.maxBytes) return;
      const { copy } = entry;
      if (!copy || copy.isLeased) continue;
      total -= this.#sizes.get(copy) ?? 0;
      const isBusy = copy.blocks?.isBusy ?? false;
      const forgotten = this.#forget(key, entry);
      if (isBusy) forgotten.catch(() => undefined);
      else await forgotten;
    }
  }
}
