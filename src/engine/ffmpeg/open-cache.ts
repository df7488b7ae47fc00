import { LRUCache } from 'lru-cache';

/**
 * Keeps the most recently used resources open for the next job on the same source. A resource is
 * closed and not used again after any failure during its use.
 */
export class OpenCache<T extends { close(): void }> {
  private readonly open: LRUCache<string, T>;

  constructor(capacity: number) {
    this.open = new LRUCache({ max: capacity, dispose: (closing) => closing.close() });
  }

  use<R>(key: readonly unknown[], create: () => T, task: (opened: T) => R): R {
    const name = JSON.stringify(key);
    const opened = this.open.get(name) ?? create();
    this.open.set(name, opened);
    try {
      return task(opened);
    } catch (error) {
      this.open.delete(name);
      throw error;
    }
  }
}
