import type { FastifyBaseLogger } from 'fastify';
import { toKinoraError } from './errors.js';

/**
 * Logs a failure by the status of its response, because some that are the fault of an input become
 * 500 for a viewer. `unavailable` without a cause is a state that passes: a part of an upload has
 * not arrived, or many viewers wait.
 */
export const logFailure = (log: Pick<FastifyBaseLogger, 'error' | 'warn'>, error: unknown, status: number): void => {
  if (status < 500) return;
  const { code, cause, details } = toKinoraError(error);
  const passes = code === 'unavailable' && cause === undefined;
  log[passes ? 'warn' : 'error']({ error, ...details }, 'request failed');
};
