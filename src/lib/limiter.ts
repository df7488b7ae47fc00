import pLimit from 'p-limit';
import { cancelled, throwIfAborted } from './abort.js';

/** Runs `work` when a slot is free, in the order of the calls. */
export type Limiter = <T>(signal: AbortSignal, task: () => Promise<T>) => Promise<T>;

/**
 * Limits the number of concurrent calls; the others wait.
 * @throws KinoraError `cancelled` from the limiter when the signal aborts before a slot is free
 */
export const createLimiter = (slots: number): Limiter => {
  const limit = pLimit(slots);
  return (signal, task) =>
    new Promise((resolve, reject) => {
      const leave = (): void => reject(cancelled(signal));
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave, { once: true });
      limit(async () => {
        throwIfAborted(signal);
        signal.removeEventListener('abort', leave);
        return task();
      }).then(resolve, reject);
    });
};
