import { expect, it } from 'vitest';
import { KinoraError } from '../lib/errors.js';
import { timedOut, unreachable } from './unreachable.js';

const failure = (code: string): Error => Object.assign(new Error('connect 10.1.2.3:8080 intern.example'), { code });

it.each([
  [failure('ENOTFOUND'), 'host not found'],
  [failure('EAI_AGAIN'), 'the host name could not be resolved'],
  [failure('ECONNREFUSED'), 'connection refused'],
  [failure('ETIMEDOUT'), 'timed out'],
  [timedOut('No answer in time'), 'timed out'],
  [new DOMException('The time limit has passed', 'TimeoutError'), 'timed out'],
  [failure('EHOSTUNREACH'), 'host not reachable'],
  [failure('ECONNRESET'), 'connection lost'],
  [failure('CERT_HAS_EXPIRED'), 'TLS certificate problem (it has expired)'],
  [failure('DEPTH_ZERO_SELF_SIGNED_CERT'), 'TLS certificate problem (it is self-signed)'],
  [failure('SELF_SIGNED_CERT_IN_CHAIN'), 'TLS certificate problem (it is self-signed)'],
  [failure('ERR_TLS_CERT_ALTNAME_INVALID'), 'TLS certificate problem (it is for another host)'],
  [
    failure('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    'TLS certificate problem (its authority is unknown or its chain is incomplete)',
  ],
  [failure('CERT_NOT_YET_VALID'), 'TLS certificate problem'],
  [failure('EPROTO'), 'TLS handshake failed'],
  [failure('ERR_SSL_WRONG_VERSION_NUMBER'), 'TLS handshake failed'],
  [failure('HPE_INVALID_CONSTANT'), 'the server does not speak HTTP'],
  [failure('EMFILE'), 'connection failed'],
  ['text', 'connection failed'],
])('%s', (cause, reason) => {
  const error = unreachable(cause);
  expect(error).toMatchObject({ code: 'source_unreachable', failure: 'retry', cause });
  expect(error.messages).toEqual([`The input file could not be downloaded: ${reason}.`]);
});

it('keeps an error that is for the caller', () => {
  const error = new KinoraError('invalid_input');
  expect(unreachable(error)).toBe(error);
});
