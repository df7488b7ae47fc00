import type { Clock } from '../../lib/clock.js';

const WINDOW_MS = 60_000;
/** Of addresses that are remembered; the oldest is forgotten first. */
const MAX_ADDRESSES = 10_000;

/** Counts wrong stream keys by address, so that nobody can try many. */
export class FailedKeys {
  private readonly windows = new Map<string, { readonly startMs: number; count: number }>();

  constructor(
    private readonly limit: number,
    private readonly clock: Clock,
  ) {}

  add(address: string): void {
    const window = this.window(address);
    if (window) window.count += 1;
    else this.open(address);
  }

  /** Within a minute after the first wrong key, there were more than allowed. */
  isBlocked(address: string): boolean {
    return (this.window(address)?.count ?? 0) >= this.limit;
  }

  private window(address: string): { count: number } | undefined {
    const window = this.windows.get(address);
    return window && this.clock.monotonicMs() - window.startMs < WINDOW_MS ? window : undefined;
  }

  private open(address: string): void {
    this.windows.delete(address);
    const [oldest] = this.windows.keys();
    if (this.windows.size >= MAX_ADDRESSES && oldest !== undefined) this.windows.delete(oldest);
    this.windows.set(address, { startMs: this.clock.monotonicMs(), count: 1 });
  }
}
