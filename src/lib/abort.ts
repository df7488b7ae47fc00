import { KinoraError } from './errors.js';

/** Reason of an abort because the server is stopping: the work goes back to the queue and is not counted as a failure. */
export const SHUTDOWN = Symbol('shutdown');
/** Reason of an abort because the job was cancelled. */
export const CANCELLED = Symbol('cancelled');

/** @throws KinoraError `cancelled` when the signal has aborted. */
export const throwIfAborted = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw new KinoraError('cancelled', { cause: signal.reason });
};
