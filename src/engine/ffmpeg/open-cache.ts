/**
 * Keeps the things used last open, so that the next job on the same source finds them where the previous left them. One in
 * whose use anything failed is closed and not used again.
 */
export class OpenCache<T extends { close(): void }> {
  /** The one used last at the end. */
  private readonly open = new Map<string, T>();

  constructor(private readonly capacity: number) {}

  use<R>(key: readonly unknown[], create: () => T, work: (opened: T) => R): R {
    const name = JSON.stringify(key);
    const opened = this.open.get(name) ?? create();
    this.open.delete(name);
    let result: R;
    try {
      result = work(opened);
    } catch (error) {
      opened.close();
      throw error;
    }
    this.open.set(name, opened);
    for (const [oldest, other] of this.open) {
      if (this.open.size <= this.capacity) break;
      this.open.delete(oldest);
      other.close();
    }
    return result;
  }
}
