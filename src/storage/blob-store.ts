import type { Readable } from 'node:stream';

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
   * @throws KinoraError `not_found`
   */
  openLocal(key: string): Promise<LocalBlob>;
}

export interface BlobInfo {
  readonly sizeBytes: number;
}

export interface LocalBlob {
  readonly path: string;
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
}

/** The whole of a small blob; undefined when it does not exist. */
export const readBlob = async (blobs: Pick<BlobStore, 'read'>, key: string): Promise<Buffer | undefined> => {
  const stream = await blobs.read(key);
  return stream && Buffer.concat((await stream.toArray()) as Buffer[]);
};
