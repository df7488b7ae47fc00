import { KinoraError } from '../lib/errors.js';
import type { CachedFile } from './segment-store.js';

/**
 * One production and everyone who waits for one of its files. Each wait ends independently: with the result, when the
 * caller aborts, or when the production fails.
 */
export interface InFlightRequest {
  readonly signal: AbortSignal;
  /** True after `abort` or when the last waiter has left: new callers must not join. */
  readonly abandoned: boolean;
  wait(path: string, signal: AbortSignal | undefined): Promise<CachedFile>;
  /** Resolves every wait for `path`. */
  resolve(path: string, file: CachedFile): void;
  /** Rejects all remaining waits. */
  fail(error: unknown): void;
  abort(error: KinoraError): void;
}

interface Waiter {
  readonly path: string;
  readonly resolve: (file: CachedFile) => void;
  readonly reject: (error: unknown) => void;
}

export const createInFlightRequest = (): InFlightRequest => {
  const controller = new AbortController();
  const waiters = new Set<Waiter>();
  const results = new Map<string, CachedFile>();
  // After one file was served, the rest is worth finishing: the viewer is about to request it.
  let served = false;

  const fail = (error: unknown) => {
    for (const waiter of [...waiters]) waiter.reject(error);
  };

  return {
    signal: controller.signal,
    get abandoned() {
      return controller.signal.aborted;
    },
    wait(path, signal) {
      // A caller that checked the cache just before a commit arrives here just after it.
      const result = results.get(path);
      if (result) return Promise.resolve(result);
      return new Promise<CachedFile>((resolve, reject) => {
        const leave = () => {
          waiters.delete(waiter);
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
          waiter.reject(new KinoraError('cancelled', { cause: signal?.reason }));
          if (waiters.size === 0 && !served) controller.abort();
        };
        waiters.add(waiter);
        if (signal?.aborted) onAbort();
        else signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
    resolve(path, file) {
      results.set(path, file);
      for (const waiter of [...waiters]) {
        if (waiter.path !== path) continue;
        served = true;
        waiter.resolve(file);
      }
    },
    fail,
    abort(error) {
      controller.abort(error);
      fail(error);
    },
  };
};
