/** The contents of the cache, least recently used first, and their total size. Pure: the store handles the files. */
export interface CacheEntry {
  readonly sizeBytes: number;
  readonly digest: string;
  /** Epoch milliseconds. */
  lastUsedMs: number;
  /** When `lastUsedMs` was last written to the file's modification time. */
  touchedMs: number;
  /** False for a file found at startup whose content has not yet been compared with its digest. */
  verified: boolean;
}

export interface CacheIndex {
  readonly totalBytes: number;
  get(path: string): CacheEntry | undefined;
  /** Makes `path` the most recently used. */
  put(path: string, entry: CacheEntry): void;
  use(path: string, nowMs: number): void;
  remove(path: string): CacheEntry | undefined;
  /**
   * The oldest entries, last used before `beforeMs`, whose removal brings the total to `targetBytes` or as close as
   * possible.
   */
  victims(targetBytes: number, beforeMs: number): string[];
  paths(): IterableIterator<string>;
}

export const createCacheIndex = (): CacheIndex => {
  // A Map iterates in insertion order; reinserting an entry when it is used keeps the map in order of last use.
  const entries = new Map<string, CacheEntry>();
  let totalBytes = 0;
  const remove = (path: string): CacheEntry | undefined => {
    const entry = entries.get(path);
    if (entry) {
      entries.delete(path);
      totalBytes -= entry.sizeBytes;
    }
    return entry;
  };
  return {
    get totalBytes() {
      return totalBytes;
    },
    get: (path) => entries.get(path),
    put(path, entry) {
      remove(path);
      entries.set(path, entry);
      totalBytes += entry.sizeBytes;
    },
    use(path, nowMs) {
      const entry = entries.get(path);
      if (!entry) return;
      entries.delete(path);
      entries.set(path, entry);
      entry.lastUsedMs = nowMs;
    },
    remove,
    victims(targetBytes, beforeMs) {
      const found: string[] = [];
      let remaining = totalBytes;
      for (const [path, entry] of entries) {
        if (remaining <= targetBytes || entry.lastUsedMs >= beforeMs) break;
        found.push(path);
        remaining -= entry.sizeBytes;
      }
      return found;
    },
    paths: () => entries.keys(),
  };
};
