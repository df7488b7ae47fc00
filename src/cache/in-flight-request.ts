import { cancelled } from '../lib/abort.js';
import type { KinoraError } from '../lib/errors.js';
import type { CachedFile } from './cached-files.js';

interface Waiter {
  readonly path: string;
  readonly resolve: (file: CachedFile) => void;
  readonly reject: (error: unknown) => void;
}

/** Work that has run for less is cancelled at once: most viewers leave because they seek. */
const LONG_MS = 5000;
/** Players retry at once, or after a second or two. */
const RETRY_MS = 5000;

/**
 * One production and everyone who waits for one of its files. Each wait ends independently: with
 * the result, when the caller aborts, or when the production fails.
 */
export class InFlightRequest {
  private readonly controller = new AbortController();
  private readonly waiters = new Set<Waiter>();
  private readonly results = new Map<string, CachedFile>();
  private readonly startedMs = performance.now();
  /** After one file was served, the rest is worth finishing: the viewer is about to request it. */
  private isServed = false;
  private retryTimer: NodeJS.Timeout | undefined;

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** True once the production was cancelled: new callers must not join. */
  get isAbandoned(): boolean {
    return this.signal.aborted;
  }

  wait(path: string, signal: AbortSignal | undefined): Promise<CachedFile> {
    // A caller that checked the cache just before a commit arrives here just after it.
    const result = this.results.get(path);
    if (result) return Promise.resolve(result);
    clearTimeout(this.retryTimer);
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiters.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        path,
        resolve: (file) => {
          leave();
          resolve(file);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const onAbort = () => {
        waiter.reject(cancelled(signal));
        if (this.waiters.size === 0 && !this.isServed) this.abandon();
      };
      this.waiters.add(waiter);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Resolves every wait for `path`. */
  resolve(path: string, file: CachedFile): void {
    this.results.set(path, file);
    for (const waiter of [...this.waiters]) {
      if (waiter.path !== path) continue;
      this.isServed = true;
      waiter.resolve(file);
    }
  }

  /**
   * Cancels the production, at once or later. Players give up after ten seconds without a byte and
   * request the file again; a slow machine would never finish it if each request started it anew.
   */
  private abandon(): void {
    const abort = (): void => this.controller.abort();
    if (performance.now() - this.startedMs < LONG_MS) abort();
    else this.retryTimer = setTimeout(abort, RETRY_MS).unref();
  }

  /** Rejects all remaining waits. */
  fail(error: unknown): void {
    for (const waiter of [...this.waiters]) waiter.reject(error);
  }

  abort(error: KinoraError): void {
    this.controller.abort(error);
    this.fail(error);
  }
}
