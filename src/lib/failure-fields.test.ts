import { expect, test } from 'vitest';
import { KinoraError } from './errors.js';
import { failureFields } from './failure-fields.js';

test('a host that refuses at every address: each is named, with the details of the failure', () => {
  const refused = new AggregateError([
    new Error('connect ECONNREFUSED ::1:80'),
    new Error('connect ECONNREFUSED 127.0.0.1:80'),
  ]);
  const failed = new KinoraError('source_unreachable', { cause: refused, details: { reason: 'connect' } });
  const final = new KinoraError('source_unreachable', { messages: ['Not reachable.'], cause: failed, failure: 'fail' });
  const fields = failureFields(final);
  expect(fields.reason).toContain('connect ECONNREFUSED ::1:80, connect ECONNREFUSED 127.0.0.1:80');
  expect(fields.details).toEqual({ reason: 'connect' });
});

test('what is no fault of the input keeps its stack', () => {
  const error = new Error('a defect');
  expect(failureFields(error)).toEqual({ err: error });
});
