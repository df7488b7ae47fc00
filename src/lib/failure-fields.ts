import { causeChain } from './cause-chain.js';
import { isKinoraError, type KinoraError } from './errors.js';

const MAX_REASON_LENGTH = 500;

/** Of the error, or of what caused it if it has none. */
const detailsOf = (error: unknown): KinoraError['details'] =>
  isKinoraError(error) ? (error.details ?? detailsOf(error.cause)) : undefined;

/**
 * What the log says about a failed input: the reason if the file or its server is to blame,
 * otherwise the whole error.
 */
export const failureFields = (error: unknown): Record<string, unknown> => {
  // What FFmpeg reported is in the details of the cause.
  if (!isKinoraError(error) || error.type !== 'invalid_input' || isKinoraError(error.cause, 'media_failed'))
    return { err: error };
  const details = detailsOf(error);
  return { reason: causeChain(error).slice(0, MAX_REASON_LENGTH), ...(details && { details }) };
};
