interface Waiter {
  readonly isDone: () => boolean;
  readonly deadlineMs: number;
  readonly settle: (isDone: boolean) => void;
}

/** How exact the limits of waits are. */
const TICK_MS = 100;

/** Requests that wait for parts. One timer serves all of them. */
export class PartWaiters {
  readonly #monotonicMs: () => number;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Resolves with true when `isDone` is true after `notify`, with false after the limit. */
  wait(isDone: () => boolean, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }): Promise<boolean> {
    if (isDone()) return Promise.resolve(true);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', abort);
        if (this.#waiters.size === 0) this.#stop();
      };
      const abort = (): void => {
        leave();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        isDone,
        deadlineMs: this.#monotonicMs() + timeoutMs,
        settle: (done) => {
          leave();
          resolve(done);
        },
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', abort);
      this.#waiters.add(waiter);
      this.#timer ??= setInterval(() => this.#expire(), TICK_MS).unref();
    });
  }

  /** Something has changed. */
  notify(): void {
    for (const waiter of this.#waiters) if (waiter.isDone()) waiter.settle(true);
  }

  #expire(): void {
    const nowMs = this.#monotonicMs();
    for (const waiter of this.#waiters) if (waiter.deadlineMs <= nowMs) waiter.settle(waiter.isDone());
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
