/**
 * Work that goes on beside what follows, such as writes whose results only a later step needs. A
 * failure is thrown where it is waited for.
 */
export class PendingWork {
  private readonly promises: Promise<unknown>[] = [];

  add(work: Promise<unknown>): void {
    work.catch(() => undefined);
    this.promises.push(work);
  }

  /** Waits for all of it. */
  async done(): Promise<void> {
    await Promise.all(this.promises);
  }

  /** Waits until nothing goes on any more, whether it failed or not. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.promises);
  }
}
