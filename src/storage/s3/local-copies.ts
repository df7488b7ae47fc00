import { type FileHandle, open as openFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ByteRange, ByteRanges } from '../../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { makeDirectory } from '../../lib/make-directory.js';
import type { LocalBlob } from '../blob-store.js';
import { type BlockFetcher, createBlockFetcher, MAX_REQUEST_BYTES } from '../block-fetcher.js';
import { writeFully } from '../disk/write-fully.js';
import type { ObjectClient, ObjectInfo, OpenObject } from './s3-client.js';

export interface LocalCopiesOptions {
  readonly objects: Pick<ObjectClient, 'stat' | 'open'>;
  /** Emptied at the start: what its files lack is known in memory only. */
  readonly dir: string;
  /** Copies in use may exceed it. */
  readonly maxBytes: number;
}

/** Small compared with a segment: what is fetched beside it is never read. */
const BLOCK_BYTES = 64 * 1024;

/** Parts of objects as files with holes, for media processes. The least recently used ones are removed. */
export interface LocalCopies {
  /** @throws KinoraError `not_found`, `unavailable` */
  open(key: string, needed: ByteRanges | undefined): Promise<LocalBlob>;
  /** Takes over a file with all bytes of the object. */
  adopt(key: string, path: string, info: ObjectInfo): Promise<void>;
  /** The objects whose keys match have changed or are deleted. */
  forget(matches: (key: string) => boolean): Promise<void>;
}

interface Copy {
  readonly path: string;
  readonly version: number;
  readonly sizeBytes: number;
  /** Absent when the file is complete. */
  readonly blocks?: BlockFetcher;
  /** Open while there are leases. */
  file?: Promise<FileHandle> | undefined;
  readonly stopped: AbortController;
  leases: number;
  isForgotten: boolean;
}

/** `first` is an answer whose bytes are not stored yet. */
type Begun = ObjectInfo & { readonly first?: { readonly start: number; readonly object: OpenObject } };

export const createLocalCopies = async ({ objects, dir, maxBytes }: LocalCopiesOptions): Promise<LocalCopies> => {
  await rm(dir, { recursive: true, force: true });
  await makeDirectory(dir);
  /** In the order of their last use. */
  const copies = new Map<string, Promise<Copy>>();
  /** Those of `copies` that exist. */
  const made = new WeakMap<Promise<Copy>, Copy>();
  const sizes = new Map<Copy, number>();
  let version = 0;

  /** Asks for the first bytes that are needed. The answer also says how large the object is. */
  const begin = async (key: string, needed: ByteRanges | undefined, signal: AbortSignal) => {
    const start = Math.floor((needed?.[0]?.start ?? 0) / BLOCK_BYTES) * BLOCK_BYTES;
    const wanted = Math.ceil((needed ? (needed[0]?.end ?? 1) : Number.POSITIVE_INFINITY) / BLOCK_BYTES) * BLOCK_BYTES;
    const range = { start, end: Math.min(wanted, start + MAX_REQUEST_BYTES) };
    const object = await objects.open(key, range, { signal });
    if (object?.wholeBytes !== undefined)
      return { sizeBytes: object.wholeBytes, etag: object.etag, first: { start, object } };
    const info = object && (await objects.stat(key));
    if (!info) throw new KinoraError('not_found', { details: { stage: 'blob', key } });
    return info;
  };
  const create = async (key: string, needed: ByteRanges | undefined): Promise<Copy> => {
    const stopped = new AbortController();
    const info: Begun = await begin(key, needed, stopped.signal);
    version += 1;
    const path = join(dir, String(version));
    const file = await openFile(path, 'wx');
    await file.truncate(info.sizeBytes);
    await file.close();
    const copy: Copy = { path, version, sizeBytes: info.sizeBytes, stopped, leases: 0, isForgotten: false };
    let { first } = info;
    const blocks = createBlockFetcher({
      blockBytes: BLOCK_BYTES,
      origin: {
        sizeBytes: info.sizeBytes,
        read: (range, signal) => {
          const begun = first?.start === range.start ? first : undefined;
          if (begun) first = undefined;
          return readObject(key, info, range, signal, begun?.object);
        },
      },
      signal: stopped.signal,
      readableBytes: () => 0,
      begin: async () => {
        copy.file ??= openFile(path, 'r+');
        await copy.file;
      },
      put: async (offset, chunk) => writeFully((await copy.file)!, chunk, offset),
    });
    return Object.assign(copy, { blocks });
  };

  /** Takes what `begun` has of the range. */
  const readObject = async function* (
    key: string,
    { etag }: ObjectInfo,
    range: ByteRange,
    signal: AbortSignal,
    begun?: OpenObject,
  ) {
    let at = range.start;
    for await (const chunk of begun?.chunks ?? []) {
      yield chunk.subarray(0, range.end - at);
      at += chunk.length;
      if (at >= range.end) return;
    }
    const object = await objects.open(key, { start: at, end: range.end }, { etag, signal });
    if (!object) throw new KinoraError('not_found', { details: { stage: 'blob', key } });
    yield* object.chunks;
  };

  /** Closes an unused copy and deletes it if it was evicted. */
  const rest = async (copy: Copy): Promise<void> => {
    if (copy.isForgotten && copy.leases === 0) copy.stopped.abort();
    await copy.blocks?.untilNoRequests();
    if (copy.leases > 0) return;
    const { file } = copy;
    copy.file = undefined;
    await (await file)?.close();
    if (!copy.isForgotten) return;
    sizes.delete(copy);
    await rm(copy.path, { force: true });
  };
  const forget = async (key: string, making: Promise<Copy>): Promise<void> => {
    if (copies.get(key) === making) copies.delete(key);
    const copy = await making.catch(() => undefined);
    if (!copy || copy.isForgotten) return;
    copy.isForgotten = true;
    if (copy.leases === 0) await rest(copy);
  };
  /** A viewer waits for it, so it waits for no request. */
  const evict = async (): Promise<void> => {
    let total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [key, making] of [...copies]) {
      if (total <= maxBytes) return;
      const copy = made.get(making);
      if (!copy || copy.leases > 0) continue;
      total -= sizes.get(copy) ?? 0;
      const isBusy = (copy.blocks?.requests ?? 0) > 0;
      const forgotten = forget(key, making);
      if (isBusy) forgotten.catch(() => undefined);
      else await forgotten;
    }
  };
  /** The copy of `key`, leased; it is made if there is none. */
  const lease = async (key: string, needed: ByteRanges | undefined): Promise<{ copy: Copy; making: Promise<Copy> }> => {
    for (;;) {
      const making = copies.get(key) ?? create(key, needed);
      copies.delete(key);
      copies.set(key, making);
      const copy = await making.catch((error: unknown) => {
        if (copies.get(key) === making) copies.delete(key);
        throw error;
      });
      made.set(making, copy);
      // Otherwise it was removed while this waited.
      if (copy.isForgotten) continue;
      copy.leases += 1;
      return { copy, making };
    }
  };

  return {
    open: async (key, needed) => {
      const { copy, making } = await lease(key, needed);
      let isReleased = false;
      const release = async (): Promise<void> => {
        if (isReleased) return;
        isReleased = true;
        copy.leases -= 1;
        if (copy.leases === 0) await rest(copy);
        await evict();
      };
      const { blocks } = copy;
      if (!blocks) return { path: copy.path, release };
      try {
        const ranges = blocks.widen(needed ?? [{ start: 0, end: copy.sizeBytes }]);
        await blocks.bring(ranges);
        sizes.set(copy, blocks.fetchedBytes);
        await evict();
        return { path: copy.path, ...(needed && { staged: { ranges, version: copy.version } }), release };
      } catch (error) {
        // The object was replaced or deleted: the next reader looks again.
        if (isKinoraError(error) && (error.code === 'not_found' || error.details?.status === 412))
          await forget(key, making);
        await release();
        throw error;
      }
    },
    adopt: async (key, path, { sizeBytes }) => {
      const old = copies.get(key);
      version += 1;
      const target = join(dir, String(version));
      await rename(path, target);
      const stopped = new AbortController();
      const copy: Copy = { path: target, version, sizeBytes, stopped, leases: 0, isForgotten: false };
      const making = Promise.resolve(copy);
      made.set(making, copy);
      copies.set(key, making);
      sizes.set(copy, sizeBytes);
      if (old) await forget(key, old);
      await evict();
    },
    forget: async (matches) => {
      await Promise.all([...copies].filter(([key]) => matches(key)).map(([key, making]) => forget(key, making)));
    },
  };
};
