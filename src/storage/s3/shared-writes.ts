import { open as openFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { LimitFunction } from 'p-limit';
import { KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import { makeDirectory } from '../../lib/make-directory.js';
import type { SharedState, SharedWrite, WriteJournal } from '../blob-store.js';
import { ifPresent } from '../disk/if-present.js';
import { writeFully } from '../disk/write-fully.js';
import { tailsPrefix } from '../keys.js';
import type { LocalCopies } from './local-copies.js';
import type { ObjectClient } from './object-client.js';
import { type LocalFile, S3SharedWrite } from './s3-shared-write.js';

export interface SharedWritesOptions {
  readonly objects: ObjectClient;
  readonly copies: Pick<LocalCopies, 'adopt'>;
  readonly dir: string;
  readonly partBytes: number;
  readonly limit: LimitFunction;
}

/** The file of a write that is not continued here is removed after this time. */
const SUSPENDED_MS = 60 * 60_000;

/**
 * Writes that any server can continue. What a request sends goes through a local file, from which
 * parts are sent while it grows; it becomes the local copy if this server has received every byte.
 * The local files of an earlier process are removed: the store has everything that was
 * acknowledged.
 */
export class SharedWrites {
  readonly #options: SharedWritesOptions;
  readonly #suspended = new Map<string, { readonly file: LocalFile; readonly timer: NodeJS.Timeout }>();

  private constructor(options: SharedWritesOptions) {
    this.#options = options;
  }

  static async open(options: SharedWritesOptions): Promise<SharedWrites> {
    await rm(options.dir, { recursive: true, force: true });
    await makeDirectory(options.dir);
    return new SharedWrites(options);
  }

  async resume(key: string, journal: WriteJournal): Promise<SharedWrite> {
    const { objects, copies, partBytes, limit } = this.#options;
    const file = await this.#openFile(key, journal);
    return S3SharedWrite.open({
      ...{ objects, copies, partBytes, limit, key, journal, file },
      onSuspended: (left) => this.#keep(key, left),
      removeRemains: () => this.discard(key),
    });
  }

  /** Removes the local files of keys that begin with `start`. */
  async forget(start: string): Promise<void> {
    await Promise.all([...this.#suspended.keys()].filter((key) => key.startsWith(start)).map((key) => this.#drop(key)));
  }

  /** Removes what is left in the store of an ended write. */
  async discard(key: string): Promise<void> {
    const { objects } = this.#options;
    for (const unfinished of await objects.listParts(key))
      if (unfinished.key === key) await objects.abortParts(key, unfinished.uploadId);
    for await (const tail of objects.list(`${tailsPrefix(key)}/`)) await objects.delete(tail.key);
  }

  /** A local file that ends where the recorded bytes end. */
  async #openFile(key: string, { state }: WriteJournal): Promise<LocalFile> {
    const old = this.#take(key);
    const oldBytes = old && old.savedBy === state.savedBy ? (await ifPresent(stat(old.path)))?.size : undefined;
    if (old && oldBytes !== undefined && oldBytes >= state.receivedBytes) {
      await truncate(old.path, state.receivedBytes);
      return old;
    }
    if (old) await rm(old.path, { force: true });
    const path = join(this.#options.dir, newId());
    await fetchTails(this.#options.objects, path, state);
    return { path, fromBytes: state.parts.length * (state.partBytes ?? 0), savedBy: state.savedBy };
  }

  #keep(key: string, file: LocalFile): void {
    const timer = setTimeout(() => void this.#drop(key).catch(() => undefined), SUSPENDED_MS).unref();
    this.#suspended.set(key, { file, timer });
  }

  #take(key: string): LocalFile | undefined {
    const entry = this.#suspended.get(key);
    this.#suspended.delete(key);
    clearTimeout(entry?.timer);
    return entry?.file;
  }

  async #drop(key: string): Promise<void> {
    const file = this.#take(key);
    if (file) await rm(file.path, { force: true });
  }
}

/** Makes a file with a hole in place of the parts. */
const fetchTails = async (objects: ObjectClient, path: string, state: SharedState): Promise<void> => {
  const file = await openFile(path, 'wx');
  const fetchTail = async (key: string, bytes: number, start: number): Promise<void> => {
    const object = await objects.open(key, { start: 0 });
    if (object?.sizeBytes !== bytes) throw new KinoraError('unavailable', { details: { stage: 's3', key, bytes } });
    let position = start;
    for await (const chunk of object.chunks) {
      await writeFully(file, Buffer.from(chunk), position);
      position += chunk.length;
    }
  };
  try {
    let start = state.parts.length * (state.partBytes ?? 0);
    const fetched = state.tails.map(({ key, bytes }) => {
      start += bytes;
      return fetchTail(key, bytes, start - bytes);
    });
    const failed = (await Promise.allSettled(fetched)).find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    await file.truncate(state.receivedBytes);
  } finally {
    await file.close();
  }
};
