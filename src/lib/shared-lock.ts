/** Lets many shared tasks run at a time, or one exclusive task. Waiting shared tasks go first. */
export class SharedLock {
  private running = 0;
  private isExclusive = false;
  private waitingShared: (() => void)[] = [];
  private readonly waitingExclusive: (() => void)[] = [];

  /** Whether shared tasks run. */
  get isShared(): boolean {
    return this.running > 0;
  }

  async shared<T>(task: () => Promise<T>): Promise<T> {
    if (this.isExclusive) await new Promise<void>((resolve) => this.waitingShared.push(resolve));
    else this.running += 1;
    try {
      return await task();
    } finally {
      this.running -= 1;
      this.handOver();
    }
  }

  async exclusive<T>(task: () => Promise<T>): Promise<T> {
    if (this.isExclusive || this.running > 0) await new Promise<void>((resolve) => this.waitingExclusive.push(resolve));
    else this.isExclusive = true;
    try {
      return await task();
    } finally {
      this.isExclusive = false;
      this.handOver();
    }
  }

  /** Gives the lock to those that wait, before they resume: nobody can come in between. */
  private handOver(): void {
    const shared = this.waitingShared;
    this.waitingShared = [];
    this.running += shared.length;
    for (const resume of shared) resume();
    if (this.running > 0) return;
    const next = this.waitingExclusive.shift();
    this.isExclusive = next !== undefined;
    next?.();
  }
}
