/** Values that arrive while one reader takes them in order. */
export class Inbox<T> implements AsyncIterable<T> {
  private readonly waiting: T[] = [];
  private wake: (() => void) | undefined;

  push(value: T): void {
    this.waiting.push(value);
    this.wake?.();
  }

  /** Never ends by itself. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.waiting.length > 0) yield this.waiting.shift()!;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}
