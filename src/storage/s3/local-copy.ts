import { type FileHandle, open as openFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ByteRange, ByteRanges } from '../../lib/byte-ranges.js';
import { KinoraError } from '../../lib/errors.js';
import type { RangeOrigin } from '../blob-store.js';
import { BlockFetcher, MAX_REQUEST_BYTES } from '../block-fetcher.js';
import { writeFully } from '../disk/write-fully.js';
import type { ObjectClient, ObjectInfo, OpenObject } from './object-client.js';

export type CopiedObjects = Pick<ObjectClient, 'stat' | 'open'>;

/** Small compared with a segment: what is fetched beside it is never read. */
const BLOCK_BYTES = 64 * 1024;

/** A response whose bytes are not stored yet. */
interface StartedRead {
  readonly start: number;
  readonly object: OpenObject;
}

/** Where a copy is. */
export interface CopySlot {
  readonly dir: string;
  /** Names the file; no other copy has it. */
  readonly version: number;
  readonly onDeleted: (copy: LocalCopy) => void;
}

const pathOf = ({ dir, version }: CopySlot): string => join(dir, String(version));

/**
 * A file with parts of an object, or all of it. It is open while there are leases, and is deleted
 * when it is forgotten and the last lease has ended.
 */
export class LocalCopy {
  readonly path: string;
  readonly version: number;
  readonly sizeBytes: number;
  /** Absent when the file is complete. */
  readonly blocks: BlockFetcher | undefined;
  readonly #stopped: AbortController;
  #file: Promise<FileHandle> | undefined;
  #leases = 0;
  #isForgotten = false;
  readonly #onDeleted: () => void;

  private constructor(slot: CopySlot, sizeBytes: number, stopped: AbortController, origin?: RangeOrigin) {
    const path = pathOf(slot);
    this.path = path;
    this.version = slot.version;
    this.sizeBytes = sizeBytes;
    this.#stopped = stopped;
    this.#onDeleted = () => slot.onDeleted(this);
    this.blocks =
      origin &&
      new BlockFetcher({
        ...{ blockBytes: BLOCK_BYTES, origin, signal: stopped.signal },
        readableBytes: () => 0,
        begin: async () => {
          this.#file ??= openFile(path, 'r+');
          await this.#file;
        },
        put: async (offset, chunk) => writeFully((await this.#file)!, chunk, offset),
      });
  }

  /**
   * A file with holes only, and a request for the first bytes that are needed: its response also
   * says how large the object is.
   * @throws KinoraError `not_found`, `unavailable`
   */
  static async create(
    objects: CopiedObjects,
    key: string,
    needed: ByteRanges | undefined,
    slot: CopySlot,
  ): Promise<LocalCopy> {
    const stopped = new AbortController();
    const { info, first } = await startReading(objects, key, needed, stopped.signal);
    const file = await openFile(pathOf(slot), 'wx');
    await file.truncate(info.sizeBytes);
    await file.close();
    return new LocalCopy(slot, info.sizeBytes, stopped, originOf(objects, key, info, first));
  }

  /** Takes over a file with all bytes. */
  static async adopt(path: string, sizeBytes: number, slot: CopySlot): Promise<LocalCopy> {
    await rename(path, pathOf(slot));
    return new LocalCopy(slot, sizeBytes, new AbortController());
  }

  get isForgotten(): boolean {
    return this.#isForgotten;
  }

  get isLeased(): boolean {
    return this.#leases > 0;
  }

  acquire(): void {
    this.#leases += 1;
  }

  async release(): Promise<void> {
    this.#leases -= 1;
    if (this.#leases === 0) await this.#closeUnused();
  }

  /** Nobody opens it any more. */
  async forget(): Promise<void> {
    if (this.#isForgotten) return;
    this.#isForgotten = true;
    if (this.#leases === 0) await this.#closeUnused();
  }

  /** Closes an unused copy and deletes it if it was forgotten. */
  async #closeUnused(): Promise<void> {
    if (this.#isForgotten && this.#leases === 0) this.#stopped.abort();
    await this.blocks?.untilIdle();
    if (this.#leases > 0) return;
    const file = this.#file;
    this.#file = undefined;
    await (await file)?.close();
    if (!this.#isForgotten) return;
    this.#onDeleted();
    await rm(this.path, { force: true });
  }
}

const startReading = async (
  objects: CopiedObjects,
  key: string,
  needed: ByteRanges | undefined,
  signal: AbortSignal,
): Promise<{ readonly info: ObjectInfo; readonly first?: StartedRead }> => {
  const start = Math.floor((needed?.[0]?.start ?? 0) / BLOCK_BYTES) * BLOCK_BYTES;
  const neededEnd = needed ? (needed[0]?.end ?? 1) : Number.POSITIVE_INFINITY;
  const end = Math.min(Math.ceil(neededEnd / BLOCK_BYTES) * BLOCK_BYTES, start + MAX_REQUEST_BYTES);
  const object = await objects.open(key, { start, end }, { signal });
  if (object?.wholeBytes !== undefined)
    return { info: { sizeBytes: object.wholeBytes, etag: object.etag }, first: { start, object } };
  const info = object && (await objects.stat(key));
  if (!info) throw notFound(key);
  return { info };
};

/** Reads one version of the object; begins with `first` where that is what is read. */
const originOf = (objects: CopiedObjects, key: string, info: ObjectInfo, first?: StartedRead): RangeOrigin => {
  let unread = first;
  return {
    sizeBytes: info.sizeBytes,
    read: (range, signal) => {
      const started = unread?.start === range.start ? unread.object : undefined;
      if (started) unread = undefined;
      return readObject(objects, key, info, range, signal, started);
    },
  };
};

async function* readObject(
  objects: CopiedObjects,
  key: string,
  { etag }: ObjectInfo,
  range: ByteRange,
  signal: AbortSignal,
  started?: OpenObject,
): AsyncGenerator<Uint8Array> {
  let at = range.start;
  for await (const chunk of started?.chunks ?? []) {
    yield chunk.subarray(0, range.end - at);
    at += chunk.length;
    if (at >= range.end) return;
  }
  const object = await objects.open(key, { start: at, end: range.end }, { etag, signal });
  if (!object) throw notFound(key);
  yield* object.chunks;
}

const notFound = (key: string): KinoraError => new KinoraError('not_found', { details: { stage: 'blob', key } });
