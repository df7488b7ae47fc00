import { open as openFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { LimitFunction } from 'p-limit';
import { KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import { makeDirectory } from '../../lib/make-directory.js';
import type { BlobWrite, SharedState, SharedWrite, WriteJournal } from '../blob-store.js';
import { openDiskBlobWrite } from '../disk/disk-blob-write.js';
import { ifPresent } from '../disk/if-present.js';
import { writeFully } from '../disk/write-fully.js';
import { tailsPrefix } from '../keys.js';
import type { LocalCopies } from './local-copies.js';
import type { ObjectClient, ObjectInfo } from './s3-client.js';
import { createSharedParts, lacksParts, type SharedParts } from './shared-parts.js';

export interface SharedWritesOptions {
  readonly objects: ObjectClient;
  readonly copies: Pick<LocalCopies, 'adopt'>;
  readonly dir: string;
  readonly partBytes: number;
  readonly limit: LimitFunction;
}

export interface SharedWrites {
  resume(key: string, journal: WriteJournal): Promise<SharedWrite>;
  /** Removes the local files of keys that begin with `start`. */
  forget(start: string): Promise<void>;
  /** Removes what is left in the store of an ended write. */
  discard(key: string): Promise<void>;
}

/** The file of a suspended write: has the bytes from `fromBytes`. */
interface LocalFile {
  readonly path: string;
  readonly fromBytes: number;
  readonly savedBy: string | null;
  readonly timer: NodeJS.Timeout;
}

/** The file of a write that does not go on here is removed after this. */
const KEPT_MS = 60 * 60_000;
const MAX_TRIES = 3;

/**
 * Writes that any server can continue. What a request brings goes through a local file, from which parts are sent while
 * it grows; it becomes the local copy if this server has received every byte. The local files of an earlier process are
 * removed: the store has everything that was acknowledged.
 */
export const createSharedWrites = async (options: SharedWritesOptions): Promise<SharedWrites> => {
  const { objects, dir } = options;
  await rm(dir, { recursive: true, force: true });
  await makeDirectory(dir);
  const suspended = new Map<string, LocalFile>();

  const take = (key: string): LocalFile | undefined => {
    const file = suspended.get(key);
    suspended.delete(key);
    clearTimeout(file?.timer);
    return file;
  };
  const drop = async (key: string): Promise<void> => {
    const file = take(key);
    if (file) await rm(file.path, { force: true });
  };
  const keep = (key: string, file: Omit<LocalFile, 'timer'>): void => {
    const timer = setTimeout(() => void drop(key).catch(() => undefined), KEPT_MS).unref();
    suspended.set(key, { ...file, timer });
  };
  /** A local file that ends where the recorded bytes end. */
  const openLocal = async (key: string, { state }: WriteJournal): Promise<Omit<LocalFile, 'timer'>> => {
    const old = take(key);
    if (
      old &&
      old.savedBy === state.savedBy &&
      ((await ifPresent(stat(old.path)))?.size ?? -1) >= state.receivedBytes
    ) {
      await truncate(old.path, state.receivedBytes);
      return old;
    }
    if (old) await rm(old.path, { force: true });
    const path = join(dir, newId());
    await fetchTails(objects, path, state);
    return { path, fromBytes: state.parts.length * (state.partBytes ?? 0), savedBy: state.savedBy };
  };

  return {
    resume: async (key, journal) => {
      const file = await openLocal(key, journal);
      return openSharedWrite(options, key, journal, file, (left) => keep(key, left));
    },
    forget: async (start) => {
      await Promise.all([...suspended.keys()].filter((key) => key.startsWith(start)).map(drop));
    },
    discard: (key) => discardRemote(objects, key),
  };
};

const discardRemote = async (objects: ObjectClient, key: string): Promise<void> => {
  for (const unfinished of await objects.listParts(key))
    if (unfinished.key === key) await objects.abortParts(key, unfinished.uploadId);
  for await (const tail of objects.list(`${tailsPrefix(key)}/`)) await objects.delete(tail.key);
};

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

const openSharedWrite = async (
  { objects, copies, partBytes, limit }: SharedWritesOptions,
  key: string,
  journal: WriteJournal,
  file: Omit<LocalFile, 'timer'>,
  keep: (file: Omit<LocalFile, 'timer'>) => void,
): Promise<SharedWrite> => {
  const { path } = file;
  let { fromBytes } = file;
  let info: ObjectInfo | undefined;
  let ended = false;
  const parts: SharedParts = createSharedParts({ objects, key, path, partBytes, limit, journal });
  const local: BlobWrite = await openDiskBlobWrite({
    path,
    onStored: parts.available,
    settle: undefined,
    publish: () => (fromBytes === 0 ? copies.adopt(key, path, info!) : rm(path)),
    onEnd: () => undefined,
  });
  /** The store may have lost parts: if the file is whole, everything is sent again. */
  const complete = async (): Promise<ObjectInfo> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await parts.complete();
      } catch (error) {
        if (fromBytes > 0 || tries >= MAX_TRIES || !lacksParts(error)) throw error;
        await parts.restart();
        parts.available(local.offsetBytes);
      }
    }
  };
  const record = async (): Promise<void> => {
    await local.sync();
    await parts.record();
  };

  return {
    get offsetBytes() {
      return local.offsetBytes;
    },
    get isPartial() {
      return fromBytes > 0;
    },
    write: local.write,
    sync: local.sync,
    read: local.read,
    stage: local.stage,
    record,
    continueWith: parts.continueWith,
    restart: async () => {
      await local.restart();
      await parts.restart();
      fromBytes = 0;
    },
    commit: async () => {
      await local.sync();
      info = await complete();
      ended = true;
      await local.commit();
      // What fails is left to the sweep.
      await discardRemote(objects, key).catch(() => undefined);
      return { sizeBytes: info.sizeBytes };
    },
    suspend: async () => {
      if (ended) return;
      ended = true;
      try {
        await record();
      } finally {
        await parts.settle();
        await local.suspend();
        keep({ path, fromBytes, savedBy: parts.savedBy });
      }
    },
    discard: async () => {
      ended = true;
      await parts.settle();
      await local.discard();
    },
  };
};
