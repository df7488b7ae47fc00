import { describe, expect, it } from 'vitest';
import { KinoraError } from '../../lib/errors.js';
import { errorResponse } from './errors.js';

describe('errorResponse', () => {
  it.each([
    ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:5432'],
    ['57P01', 'terminating connection due to administrator command'],
    ['53300', 'sorry, too many clients already'],
    ['08006', 'connection failure'],
    [undefined, 'Connection terminated unexpectedly'],
    [undefined, 'timeout exceeded when trying to connect'],
  ])('calls a database that cannot be reached unavailable: %s %s', (code, message) => {
    expect(errorResponse(Object.assign(new Error(message), { code }))).toEqual({
      status: 503,
      headers: { 'Retry-After': expect.stringMatching(/^\d+$/) },
      body: { error: { type: 'unavailable', messages: ['Service temporarily unavailable'] } },
    });
  });

  it.each([new Error('secret detail'), Object.assign(new Error('unique'), { code: '23505' }), 'text', undefined])(
    'tells nothing about a defect: %s',
    (error) => {
      expect(errorResponse(error)).toEqual({
        status: 500,
        headers: {},
        body: { error: { type: 'internal_error', messages: ['Internal server error'] } },
      });
    },
  );

  it('shows every message of a refusal', () => {
    const error = new KinoraError('invalid_parameters', { messages: ['a is required', 'b is required'] });
    expect(errorResponse(error)).toMatchObject({
      status: 400,
      body: { error: { messages: ['a is required', 'b is required'] } },
    });
  });
});
