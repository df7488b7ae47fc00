import type { Readable } from 'node:stream';
import type { BucketObject } from '../lib/bucket-url.js';
import type { ByteRange, ByteRanges, PresentRanges } from '../lib/byte-ranges.js';

/**
 * Stores sources and everything else that must not be lost. Keys are `/`-separated `[A-Za-z0-9._-]`
 * segments made by `keys.ts`, never text from a user. One contract suite
 * (`test/contract/blob-store.ts`) runs on every implementation.
 */
export interface BlobStore {
  /** Whether blobs are files of this machine, so that `openLocal` copies nothing. */
  readonly isLocal: boolean;
  /**
   * Opens `key` for an append that survives interruption: bytes confirmed by an earlier suspended
   * or killed write are kept, and `offsetBytes` is their number. After a power failure it covers at
   * least what was suspended, and never a byte that was not written. The blob is invisible to
   * readers until `commit`.
   */
  resumeWrite(key: string): Promise<LocalWrite>;
  /** Writes a small blob (at most a few MiB) in one visible step; replaces an existing one. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Undefined when the blob does not exist. `end` is exclusive. */
  read(key: string, range?: { start: number; end?: number }): Promise<Readable | undefined>;
  stat(key: string): Promise<BlobInfo | undefined>;
  /** Deleting a missing blob is not an error. */
  delete(key: string): Promise<void>;
  /** Removes every blob and unfinished write below `prefix` (a whole key segment). */
  deletePrefix(prefix: string): Promise<void>;
  /**
   * The blobs below `prefix` (a whole key segment), in any order. Absent when blobs are files of
   * this machine: nobody else lists them.
   */
  list?(prefix: string): AsyncIterable<{ readonly key: string; readonly sizeBytes: number }>;
  /** Removes what unfinished writes of other servers have sent of a blob that is stored now. */
  abortUploads?(key: string): Promise<void>;
  /** Removes the unfinished writes below `prefix` (a whole key segment), but no blobs. */
  discardUnfinished(prefix: string): Promise<void>;
  /**
   * Removes every unfinished write whose key is not in `needed`, and returns how many. Must run
   * before anything is written.
   */
  sweepUnfinished(needed: ReadonlySet<string>): Promise<number>;
  /**
   * Continues a write that any server with these blobs can continue, where the last one recorded
   * it. Absent when blobs are files of this machine.
   */
  resumeShared?(key: string, journal: WriteJournal): Promise<SharedWrite>;
  /** Removes what a shared write that has ended left in the store, but not the blob. */
  discardShared?(key: string): Promise<void>;
  /**
   * Returns a path that a media process can open while the lease is held: on disk the blob itself,
   * elsewhere a local copy. `needed` lists the bytes that will be read, if known; a copy or an
   * incomplete blob then has at least those.
   * @throws KinoraError `not_found`; `unavailable` when `needed` can't be fetched
   */
  openLocal(key: string, needed?: ByteRanges): Promise<LocalBlob>;
}

export interface BlobInfo {
  readonly sizeBytes: number;
}

export interface LocalBlob {
  readonly path: string;
  /**
   * The bytes that may be read if the file is incomplete; the rest is missing. They don't change
   * during the lease.
   */
  readonly staged?: PresentRanges;
  release(): Promise<void>;
}

export interface BlobWrite {
  /** The number of stored bytes, which is where the next `write` continues. */
  readonly offsetBytes: number;
  write(chunk: Uint8Array): Promise<void>;
  /** Drops the stored bytes and starts at zero again (the remote file changed). */
  restart(): Promise<void>;
  /**
   * Does the part of a commit that takes time, if any. Called after the last write, while a staged
   * file can still be read; without it, `commit` takes longer.
   */
  prepareCommit?(): Promise<void>;
  /** Makes the bytes durable and the blob visible under its key. */
  commit(): Promise<BlobInfo>;
  /** Makes the bytes durable and keeps them for a later `resumeWrite`. */
  suspend(): Promise<void>;
  /** Makes the bytes durable, as `suspend` does, and keeps the write open. */
  sync(): Promise<void>;
  /** Returns `length` of the stored bytes. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Removes the unfinished bytes. */
  discard(): Promise<void>;
  /**
   * Makes the unfinished blob readable at `path` as a file of `sizeBytes` with holes. Bytes may
   * then also be put beyond `offsetBytes`; they are lost when the process ends, and `write`
   * provides them again. Ends with `restart`, `commit`, `suspend` or `discard`.
   */
  stage(sizeBytes: number): Promise<StagedFile>;
}

/** A write whose bytes are all in a file of this machine until its commit. */
export interface LocalWrite extends BlobWrite {
  /**
   * Bytes from the start of the file that it lacks, because the write began behind them; `fill`
   * provides them, from `start` on. They can't be read, and `commit` needs them. Undefined when
   * nothing is missing.
   */
  readonly missing: ByteRange | undefined;
  /**
   * Drops the stored bytes and continues at `offset`. What is missing then survives an
   * interruption: a resumed write that lost bytes behind it, or `offset` itself, starts at zero.
   */
  startAt(offset: number): Promise<void>;
  /** Puts the next missing bytes; those that nothing misses are ignored. */
  fill(chunk: Uint8Array): Promise<void>;
  /** Gives every byte to the operating system, so that it survives the end of this process. */
  flush(): Promise<void>;
  /** Drops the stored bytes from `sizeBytes` on. */
  truncate(sizeBytes: number): Promise<void>;
  /** Replaces stored bytes. After a power failure, either may be there until the next `sync`. */
  patch(offset: number, bytes: Uint8Array): Promise<void>;
}

/** What the store has of an unfinished write: whole parts, then tails. */
export interface SharedState {
  readonly multipartId: string | null;
  /** All parts have this size; null before the first one. */
  readonly partBytes: number | null;
  readonly parts: readonly { readonly number: number; readonly etag: string }[];
  /** Higher part numbers have never been used. */
  readonly reservedParts: number;
  /** Objects with the bytes after the last part, in order. */
  readonly tails: readonly { readonly key: string; readonly bytes: number }[];
  readonly receivedBytes: number;
}

/**
 * Records a shared write in the database, as long as this server has its lease. An interface,
 * because `storage` may not import `uploads`, which has the leases.
 */
export interface WriteJournal {
  /** What `save` names when it succeeds. */
  readonly token: string;
  readonly state: SharedState & { readonly savedBy: string | null };
  /** @throws KinoraError `upload_busy` when another server has the lease; `unavailable` */
  save(state: SharedState): Promise<void>;
}

/**
 * Only what `record` has stored is acknowledged: it survives this machine. `sync` only makes bytes
 * readable on this machine. An interface, because `uploads` may import only this contract.
 */
export interface SharedWrite extends BlobWrite {
  /** A part of the stored bytes is not on this machine: `stage` and `read` can't be used. */
  readonly isPartial: boolean;
  /** Stores and records every byte, as `suspend` does, and keeps the write open. */
  record(): Promise<void>;
  /**
   * Goes on with another lease; returns false when another server has continued, and then only
   * `discard` is left.
   */
  continueWith(journal: WriteJournal): boolean;
  /** Removes what is on this machine. Another server may go on. */
  discard(): Promise<void>;
}

export interface StagedFile {
  readonly path: string;
  /** Whether `path` can still be opened after the commit, until `release`. */
  readonly outlivesCommit: boolean;
  /** Called when nobody reads at `path` any more. */
  release(): Promise<void>;
  /** The number of bytes from the start that can be read. */
  readonly readableBytes: number;
  /** Makes everything that was written readable. */
  flush(): Promise<void>;
  put(offset: number, chunk: Uint8Array): Promise<void>;
  /** Returns `length` bytes of the file, put ones included. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/**
 * Unit in which data is fetched and tracked. Small compared with a segment, large compared with the
 * cost of a request.
 */
export const BLOCK_BYTES = 256 * 1024;
/** The origin of a file that is not stored yet. */
export interface RangeOrigin {
  /** The size of the whole file. */
  readonly sizeBytes: number;
  /** Nothing is read beyond what the download has stored: readers see a file that ends there. */
  readonly growsAtEnd?: boolean;
  /**
   * Reads the bytes of `range`, all from the same version of the file.
   * @throws KinoraError `source_changed` when the file has changed, `source_unreachable`
   */
  read(range: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/**
 * A source that is read while it is being stored: `openLocal` gives its readers what the write has
 * stored, and fetches the rest from the origin. An interface, because most rooms import only the
 * contracts of this one.
 */
export interface RangeSource {
  /** The size of the whole file. */
  readonly sizeBytes: number;
  /**
   * The number of bytes requested from the origin in addition to the download of the whole file.
   */
  readonly fetchedBytes: number;
  /**
   * The ranges that every job reads when it opens the file: what its demuxer needs before the first
   * packet. They count as needed from this call.
   */
  keepOpening(ranges: ByteRanges): void;
  /**
   * The write for the download of the whole file, where parts come from an origin as well: it
   * pauses while these are fetched, and compares them. It ends the source itself.
   */
  readonly target: BlobWrite;
  /** Commits the write. After that, readers get the blob, and those that began before read on. */
  commit(): Promise<BlobInfo>;
  /** Waits for existing leases, refuses new ones, and then runs `finish`, which ends the write. */
  end<T>(finish: () => Promise<T>): Promise<T>;
  /** Ends reading before the file is stored; the write goes on. */
  close(): Promise<void>;
}

/**
 * Why fetched parts can't be trusted: the download has other bytes, or starts again and may bring
 * others.
 */
export type Mismatch = 'differs' | 'restarts';

/** The store as other parts see it, which may import only this contract. */
export interface RangeBlobStore extends BlobStore {
  /**
   * After this call, `openLocal(key)` reads what `write` has stored and fetches the rest from
   * `origin`. The download waits for `onMismatch`, which closes the source and removes what was
   * made from it.
   */
  openRanges(
    key: string,
    write: BlobWrite,
    origin: RangeOrigin,
    onMismatch?: (mismatch: Mismatch) => Promise<void>,
  ): Promise<RangeSource>;
}

/** What is stored of a source that stays in its bucket. */
export interface SourceLink extends BucketObject, BlobInfo {
  readonly etag: string;
}

/**
 * Sources that are read in place, from buckets that belong to somebody else. An interface, because
 * other parts may import only this contract.
 */
export interface LinkedSources {
  /**
   * Undefined when the object does not exist.
   * @throws KinoraError `invalid_input` outside the configured buckets, `unavailable`
   */
  find(object: BucketObject): Promise<Omit<SourceLink, keyof BucketObject> | undefined>;
  /** Makes the object, in this version only, the blob with `key`, a key of `sourceKey`. */
  link(key: string, link: SourceLink): Promise<void>;
}

/** The stage that errors of a changed or deleted source name. */
export const LINKED_SOURCE = 'linked source';

/** Reads a small blob as a whole; undefined when it does not exist. */
export const readBlob = async (blobs: Pick<BlobStore, 'read'>, key: string): Promise<Buffer | undefined> => {
  const stream = await blobs.read(key);
  return stream && Buffer.concat((await stream.toArray()) as Buffer[]);
};
