import { KinoraError } from './errors.js';

/** Reason of an abort because the server is stopping: the work goes back to the queue and is not counted as a failure. */
export const SHUTDOWN = Symbol('shutdown');
/** Reason of an abort because the job was cancelled. */
export const CANCELLED = Symbol('cancelled');
/** Reason of an abort because the job may be another worker's by now: nothing that this run still does counts. */
export const LEASE_LOST = Symbol('lease lost');

/** @throws KinoraError `cancelled` when the signal has aborted. */
export const throwIfAborted = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw new KinoraError('cancelled', { cause: signal.reason });
};
