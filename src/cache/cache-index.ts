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

/**
 * The contents of the cache, least recently used first, and their total size. It only keeps the
 * books: `CachedFiles` handles the files.
 */
export class CacheIndex {
  /**
   * In order of last use: a Map iterates in insertion order, and an entry is reinserted when it is
   * used.
   */
  private readonly entries = new Map<string, CacheEntry>();
  private bytes = 0;

  get totalBytes(): number {
    return this.bytes;
  }

  get(path: string): CacheEntry | undefined {
    return this.entries.get(path);
  }

  paths(): IterableIterator<string> {
    return this.entries.keys();
  }

  /** Makes `path` the most recently used. */
  put(path: string, entry: CacheEntry): void {
    this.remove(path);
    this.entries.set(path, entry);
    this.bytes += entry.sizeBytes;
  }

  use(path: string, nowMs: number): void {
    const entry = this.entries.get(path);
    if (!entry) return;
    this.entries.delete(path);
    this.entries.set(path, entry);
    entry.lastUsedMs = nowMs;
  }

  remove(path: string): CacheEntry | undefined {
    const entry = this.entries.get(path);
    if (entry) {
      this.entries.delete(path);
      this.bytes -= entry.sizeBytes;
    }
    return entry;
  }

  /**
   * The oldest entries, last used before `beforeMs`, whose removal brings the total to
   * `targetBytes` or as close as possible.
   */
  victims(targetBytes: number, beforeMs: number): string[] {
    const victims: string[] = [];
    let remaining = this.bytes;
    for (const [path, entry] of this.entries) {
      if (remaining <= targetBytes || entry.lastUsedMs >= beforeMs) break;
      victims.push(path);
      remaining -= entry.sizeBytes;
    }
    return victims;
  }
}
