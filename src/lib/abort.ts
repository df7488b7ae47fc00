import { KinoraError } from './errors.js';

/**
 * The reason of an abort at shutdown: the work returns to the queue and is not counted as a
 * failure.
 */
export const SHUTDOWN = Symbol('shutdown');
/** The reason of an abort because the job was cancelled. */
export const CANCELLED = Symbol('cancelled');
/**
 * The reason of an abort because another worker may have taken the job: this run's results no
 * longer count.
 */
export const LEASE_LOST = Symbol('lease lost');

/** The failure of work whose signal has aborted: nobody waits for its result. */
export const cancelled = (signal: AbortSignal | undefined, cause: unknown = signal?.reason): KinoraError =>
  new KinoraError('cancelled', { cause });

/** @throws KinoraError `cancelled` when the signal has aborted. */
export const throwIfAborted = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw cancelled(signal);
};
