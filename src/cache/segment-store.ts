import type { KinoraError } from '../lib/errors.js';

/**
 * The size-limited cache of everything that is computed on request. There is one production per key, however many
 * callers wait. A file becomes visible only after it was verified and renamed, so a reader sees a whole segment or
 * none.
 */
export interface SegmentStore {
  /**
   * Returns the cached file, or the result of `produce`. A caller that aborts ends only its own wait; the production
   * is cancelled when nobody waits. `produce` must call `commit` for `key` before it returns, and may do so for other
   * keys that it made.
   * @throws KinoraError `cancelled`, `not_found` (the asset has been removed in the meantime), `unavailable` (disk
   * full, stopping) and whatever `produce` throws
   */
  get(key: CacheKey, produce: Producer, options?: GetOptions): Promise<CachedFile>;
  has(key: CacheKey): boolean;
  readonly totalBytes: number;
  /** The assets that something is stored of. */
  assetIds(): ReadonlySet<string>;
  /**
   * Removes everything of an asset; productions that still run for it can no longer commit. Callers that wait for one get
   * `error`, by default `not_found`.
   */
  removeAsset(assetId: string, error?: KinoraError): Promise<void>;
  /** Does the same for one rendition of an asset. */
  removeRendition(assetId: string, rendition: string): Promise<void>;
  stop(): Promise<void>;
}

export interface GetOptions {
  readonly signal?: AbortSignal;
  /** Other keys that `produce` also commits: callers that request one of them wait for this production. */
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
  /** Returns a new path in the directory that media processes write to. Remaining files are removed afterwards. */
  temporaryPath(): string;
  /**
   * Makes the verified bytes visible under `key` and resolves every wait for it. It takes bytes and not a file,
   * because the process that wrote a file may be able to change it after verification.
   */
  commit(key: CacheKey, bytes: Uint8Array): Promise<void>;
}

export interface CachedFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** A strong validator, including quotation marks. */
  readonly etag: string;
  /** The content in memory, for a file that is requested repeatedly. Each call counts as a request. */
  readonly lend?: () => Promise<LentContent | undefined>;
}

export interface LentContent {
  readonly bytes: Uint8Array;
  /** Must be called once, when the bytes are not used any more. */
  release(): void;
}
