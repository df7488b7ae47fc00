import { expect, it } from 'vitest';
import { KinoraError } from '../../lib/errors.js';
import { playbackError } from './playback-error.js';

it('calls a database that cannot be reached unavailable, with a time to come back', () => {
  const lost = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });
  for (const error of [lost, new KinoraError('unavailable'), new KinoraError('cancelled')]) {
    expect(playbackError(error)).toEqual({
      status: 503,
      headers: { 'Retry-After': expect.stringMatching(/^\d+$/) },
      body: { code: 14, message: 'Service temporarily unavailable' },
    });
  }
});

it.each([new Error('secret detail'), new KinoraError('media_failed'), 'text', undefined])(
  'tells viewers nothing about a defect: %s',
  (error) => {
    expect(playbackError(error)).toEqual({ status: 500, headers: {}, body: { code: 13, message: 'Internal error' } });
  },
);
