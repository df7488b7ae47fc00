import { throwIfAborted } from './abort.js';
import { KinoraError } from './errors.js';

/** Runs `work` when there is a place for it, in the order of the calls. */
export type Limiter = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/**
 * Lets so many calls run at a time; the others wait.
 * @throws KinoraError `cancelled` from the limiter when the signal aborts before there is a place
 */
export const createLimiter = (places: number): Limiter => {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const enter = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', leaveQueue);
        taken += 1;
        resolve();
      };
      const leaveQueue = (): void => {
        waiting.splice(waiting.indexOf(go), 1);
        reject(new KinoraError('cancelled', { cause: signal.reason }));
      };
      if (taken < places) go();
      else {
        waiting.push(go);
        signal.addEventListener('abort', leaveQueue, { once: true });
      }
    });
  return async (signal, work) => {
    throwIfAborted(signal);
    await enter(signal);
    try {
      return await work();
    } finally {
      taken -= 1;
      waiting.shift()?.();
    }
  };
};
