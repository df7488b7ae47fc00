import { isKinoraError } from '../../lib/errors.js';

/** Why a target does not get the stream. */
export interface ConnectionFailure {
  /** For the log: a status of RTMP, an error of the network, or one of the codes of this folder. */
  readonly code: string;
  /**
   * - `forbidden`: never tried again
   * - `refused`: the service is there and does not take the stream; tried a few times
   * - `lost`: the service or the network is away; tried again
   */
  readonly kind: 'forbidden' | 'refused' | 'lost';
}

/** A failure as an error. */
export class ConnectionError extends Error {
  constructor(readonly failure: ConnectionFailure) {
    super(failure.code);
  }
}

const TLS_CODES = /CERT|^ERR_(TLS|SSL)_|^UNABLE_TO_|^EPROTO$/;

export const failureOf = (error: unknown): ConnectionFailure => {
  if (error instanceof ConnectionError) return error.failure;
  if (isKinoraError(error, 'invalid_input')) return { code: 'address_not_allowed', kind: 'forbidden' };
  if (isKinoraError(error, 'invalid_parameters')) return { code: 'no_rtmp', kind: 'refused' };
  const code = String((error as NodeJS.ErrnoException).code ?? 'error');
  return { code, kind: TLS_CODES.test(code) ? 'refused' : 'lost' };
};
