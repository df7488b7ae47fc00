import type { Clock } from '../lib/clock.js';

const WINDOW_MS = 60_000;
/** Of names that are remembered; the oldest is forgotten first. */
const MAX_NAMES = 10_000;

/** Counts attempts within a minute by the name of who makes them, such as an address. */
export class AttemptLimit {
  private readonly windows = new Map<string, { readonly startMs: number; count: number }>();

  constructor(
    private readonly limit: number,
    private readonly clock: Clock,
  ) {}

  add(name: string): void {
    const window = this.window(name);
    if (window) window.count += 1;
    else this.open(name);
  }

  /** Within a minute after the first one, there were as many as allowed. */
  isReached(name: string): boolean {
    return (this.window(name)?.count ?? 0) >= this.limit;
  }

  private window(name: string): { count: number } | undefined {
    const window = this.windows.get(name);
    return window && this.clock.monotonicMs() - window.startMs < WINDOW_MS ? window : undefined;
  }

  private open(name: string): void {
    this.windows.delete(name);
    const [oldest] = this.windows.keys();
    if (this.windows.size >= MAX_NAMES && oldest !== undefined) this.windows.delete(oldest);
    this.windows.set(name, { startMs: this.clock.monotonicMs(), count: 1 });
  }
}
