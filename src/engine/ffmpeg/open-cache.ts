import { LRUCache } from 'lru-cache';

/**
 * Keeps the most recently used resources open for the next job on the same source. A resource is
 * out of the cache while it is used: one user at a time has it. After a failure of its use, it is
 * closed.
 */
export class OpenCache<T extends { close(): void }> {
  private readonly open: LRUCache<string, T>;

  constructor(capacity: number) {
    const dispose = (closing: T, _name: string, reason: string): void => {
      if (reason !== 'delete') closing.close();
    };
    this.open = new LRUCache({ max: capacity, dispose });
  }

  use<R>(key: readonly unknown[], create: () => T, task: (opened: T) => R): R {
    const name = JSON.stringify(key);
    const opened = this.take(name) ?? create();
    try {
      const result = task(opened);
      this.open.set(name, opened);
      return result;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  /** The same for a task that takes several turns of the event loop. */
  async lend<R>(key: readonly unknown[], create: () => T, task: (opened: T) => Promise<R>): Promise<R> {
    const name = JSON.stringify(key);
    const opened = this.take(name) ?? create();
    try {
      const result = await task(opened);
      this.open.set(name, opened);
      return result;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  private take(name: string): T | undefined {
    const opened = this.open.get(name);
    this.open.delete(name);
    return opened;
  }
}
