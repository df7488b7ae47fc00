import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { KinoraError } from './errors.js';
import { isUnavailable } from './unavailable.js';

const coded = (code: string, message = 'failed'): Error => Object.assign(new Error(message), { code });

test.each([
  ['a lost connection', coded('ECONNRESET')],
  ['a shutdown of the database', coded('57P01')],
  ['a full disk of the database', coded('53100')],
  ['a file that the database cannot use', coded('58P02')],
  ['an input or output error of the database', coded('58030')],
  ['a database that became a standby', coded('25006')],
  ['a connection that was ended because it was silent', new Error('Client was closed and is not queryable')],
  ['a connection that was not made in time', new Error('timeout expired')],
  ['a full disk', coded('ENOSPC')],
  ['a used up quota', coded('EDQUOT')],
  [
    'a used-up quota, as Node.js reports it',
    Object.assign(coded('UNKNOWN', 'UNKNOWN: unknown error, write'), { errno: -constants.errno.EDQUOT }),
  ],
  ['what a full disk has caused', new Error('not stored', { cause: coded('ENOSPC') })],
  ['a program without space', new Error('Error writing trailer: No space left on device')],
  ['what was found before', new KinoraError('unavailable')],
])('%s passes', (_, error) => expect(isUnavailable(error)).toBe(true));

test.each([
  ['a unique key', coded('23505')],
  ['a missing table', coded('42P01')],
  ['a missing file', coded('ENOENT')],
  ['a defect', new TypeError('x is not a function')],
  ['a refusal', new KinoraError('gone')],
  ['no error', 'No space left on device'],
])('%s does not pass', (_, error) => expect(isUnavailable(error)).toBe(false));
