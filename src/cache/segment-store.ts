/**
 * The bounded cache of everything that is computed on request. One request in flight per key: many waiters, one production. A file is
 * visible only after it was verified and renamed; a reader sees a whole segment or none.
 */
export interface SegmentStore {
  /**
   * The cached file, or the result of `produce`. A caller that aborts drops only its own wait; the production is cancelled
   * when nobody waits. `produce` must call `commit` for `key` (and may for neighbors it made as well) before it returns.
   * @throws KinoraError `cancelled`, `not_found` (the asset was removed meanwhile), `unavailable` (disk full, stopping) and
   * whatever `produce` throws
   */
  get(key: CacheKey, produce: Producer, options?: GetOptions): Promise<CachedFile>;
  has(key: CacheKey): boolean;
  readonly totalBytes: number;
  /** Forgets and removes everything of an asset; productions that still run for it can no longer commit. */
  removeAsset(assetId: string): Promise<void>;
  /** The same for one rendition of it. */
  removeRendition(assetId: string, rendition: string): Promise<void>;
  stop(): Promise<void>;
}

export interface GetOptions {
  readonly signal?: AbortSignal;
  /** Other keys that `produce` commits as well: who asks for one of them meanwhile waits for this production. */
  readonly covers?: readonly CacheKey[];
}

/** Names one computed file; `plan` separates versions so that caches never mix them. */
export interface CacheKey {
  readonly assetId: string;
  readonly plan: number;
  readonly rendition: string;
  /** `init.mp4`, `0.m4s`, `1.m4s` … */
  readonly file: string;
}

export type Producer = (production: Production) => Promise<void>;

export interface Production {
  /** Aborts when nobody waits for any result of this production any more. */
  readonly signal: AbortSignal;
  /** A fresh path in the directory that media processes write to; what is left there is removed afterwards. */
  temporaryPath(): string;
  /**
   * Makes the verified bytes visible under `key`; wakes whoever waits for it. Bytes and not a file, because the process that
   * wrote a file may be able to change it after the verification.
   */
  commit(key: CacheKey, bytes: Uint8Array): Promise<void>;
}

export interface CachedFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Strong validator, quoted. */
  readonly etag: string;
}
