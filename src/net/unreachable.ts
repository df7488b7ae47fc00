import { isKinoraError, KinoraError } from '../lib/errors.js';

/** An error that `unreachable` takes for a time limit. */
export const timedOut = (message: string): Error => Object.assign(new Error(message), { code: 'ETIMEDOUT' });

/**
 * By the code of the error. No message names a host or an address: its reader may not know who
 * answered.
 */
const REASONS: readonly (readonly [codes: RegExp, reason: string])[] = [
  [/^(ENOTFOUND|ENODATA)$/, 'host not found'],
  [/^EAI_/, 'the host name could not be resolved'],
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(ETIMEDOUT|TimeoutError)$/, 'timed out'],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, 'host not reachable'],
  [/^(ECONNRESET|EPIPE)$/, 'connection lost'],
  [/^CERT_HAS_EXPIRED$/, 'TLS certificate problem (it has expired)'],
  [/SELF_SIGNED_CERT/, 'TLS certificate problem (it is self-signed)'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'TLS certificate problem (it is for another host)'],
  [
    /^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)/,
    'TLS certificate problem (its authority is unknown or its chain is incomplete)',
  ],
  [/^(CERT_|UNABLE_TO_)/, 'TLS certificate problem'],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, 'TLS handshake failed'],
  [/^HPE_/, 'the server does not speak HTTP'],
];

/**
 * `source_unreachable` with a message that names the cause; the error itself is for the log only.
 * @param cause returned unchanged if it is a KinoraError
 */
export const unreachable = (cause: unknown, details?: Record<string, unknown>): KinoraError => {
  if (isKinoraError(cause)) return cause;
  const { code, name } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : {};
  const reason = REASONS.find(([codes]) => codes.test(code ?? '') || codes.test(name ?? ''))?.[1];
  return new KinoraError('source_unreachable', {
    cause,
    ...(details && { details }),
    ...(reason && { messages: [`The input file could not be downloaded: ${reason}.`] }),
  });
};
