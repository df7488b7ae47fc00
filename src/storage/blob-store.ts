import type { Readable } from 'node:stream';
import type { ByteRange, ByteRanges } from '../lib/byte-ranges.js';

/**
 * Where sources and everything that must not be lost live. Keys are `/`-separated names of `[A-Za-z0-9._-]` segments made
 * by `keys.ts`; never text from a user. One contract suite (`test/contract/blob-store.ts`) runs on every implementation.
 */
export interface BlobStore {
  /**
   * Opens `key` for an append that survives interruption: bytes confirmed by an earlier, suspended or killed write are
   * kept and `offsetBytes` says how many. After a power failure it is at least what was suspended, and never a byte that was
   * not written. The blob is invisible to readers until `commit`.
   */
  resumeWrite(key: string): Promise<BlobWrite>;
  /** Writes a small blob (at most some MiB) as one visible step; replaces an earlier one. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Undefined when the blob does not exist. `end` is exclusive. */
  read(key: string, range?: { start: number; end?: number }): Promise<Readable | undefined>;
  stat(key: string): Promise<BlobInfo | undefined>;
  /** Removing what is not there is no error. */
  delete(key: string): Promise<void>;
  /** Removes every blob below `prefix` (a whole key segment), also unfinished writes. */
  deletePrefix(prefix: string): Promise<void>;
  /** Removes the unfinished writes below `prefix` (a whole key segment), and no blob. */
  discardUnfinished(prefix: string): Promise<void>;
  /** Removes every unfinished write whose key is not in `needed`, and says how many. Only before anything is written. */
  sweepUnfinished(needed: ReadonlySet<string>): Promise<number>;
  /**
   * A path that a media process can open while the lease is held. On disk it is the blob itself, elsewhere a local copy.
   * `needed` says which bytes will be read, where that is known: of a blob that is not here as a whole, those are brought.
   * @throws KinoraError `not_found`; `unavailable` when `needed` can't be brought
   */
  openLocal(key: string, needed?: ByteRanges): Promise<LocalBlob>;
}

export interface BlobInfo {
  readonly sizeBytes: number;
}

export interface LocalBlob {
  readonly path: string;
  /** The bytes that may be read, when these are not all; the rest of the file is missing. They don't change during the lease. */
  readonly staged?: ByteRanges;
  release(): Promise<void>;
}

export interface BlobWrite {
  /** Bytes already stored: where the next `write` continues. */
  readonly offsetBytes: number;
  write(chunk: Uint8Array): Promise<void>;
  /** Drops what was stored and starts at zero again (the remote file changed). */
  restart(): Promise<void>;
  /** Makes the bytes durable and the blob visible under its key. */
  commit(): Promise<BlobInfo>;
  /** Makes the bytes durable and keeps them for a later `resumeWrite`. */
  suspend(): Promise<void>;
  /** Removes the unfinished bytes. */
  discard(): Promise<void>;
  /**
   * Lets the unfinished blob be read at `path` as a file of `sizeBytes`, with holes: bytes may now also be put beyond
   * `offsetBytes`. They are lost with the process; `write` brings them again. Until `restart`, `commit`, `suspend` or `discard`.
   */
  stage(sizeBytes: number): Promise<StagedFile>;
}

export interface StagedFile {
  readonly path: string;
  /** Bytes from the start that readers find. */
  readonly readableBytes: number;
  put(offset: number, chunk: Uint8Array): Promise<void>;
}

/** Where bytes of a file come from that is not stored yet. */
export interface RangeOrigin {
  /** Of the whole file. */
  readonly sizeBytes: number;
  /**
   * The bytes of `range`, all of the same version of the file.
   * @throws KinoraError `source_changed` when the file is another one now, `source_unreachable`
   */
  read(range: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A source that is read while it is being stored. */
export interface RangeSource {
  /** Of the whole file. */
  readonly sizeBytes: number;
  /** What has been asked of the origin beside the download of the whole file. */
  readonly fetchedBytes: number;
  /** Read by every job that opens the file: what its demuxer needs before the first packet. Counts as needed from now on. */
  keepOpening(ranges: ByteRanges): void;
  /**
   * The write to give to the download of the whole file: it waits while single ranges are fetched. Once it is committed readers
   * get the blob; `restart`, `suspend` and `discard` wait for those that read.
   */
  readonly target: BlobWrite;
  /** Ends reading before the file is stored: who has a lease is waited for, everyone else is refused. */
  close(): Promise<void>;
}

export interface RangeBlobStore extends BlobStore {
  /** From now on `openLocal(key)` reads what `target` has stored and fetches from `origin` what it has not. */
  openRanges(key: string, target: BlobWrite, origin: RangeOrigin): Promise<RangeSource>;
}

/** The whole of a small blob; undefined when it does not exist. */
export const readBlob = async (blobs: Pick<BlobStore, 'read'>, key: string): Promise<Buffer | undefined> => {
  const stream = await blobs.read(key);
  return stream && Buffer.concat((await stream.toArray()) as Buffer[]);
};
