import { expect, test } from 'vitest';
import { InFlightRequest } from './in-flight-request.js';

const file = { path: '/cache/0.m4s', sizeBytes: 1, etag: '"a"' };

test('who joins after the result is there is served at once', async () => {
  const request = new InFlightRequest();
  const early = request.wait('0.m4s', undefined);
  request.resolve('0.m4s', file);
  const late = request.wait('0.m4s', undefined);
  request.fail(new Error('ended without committing'));
  expect(await early).toBe(file);
  expect(await late).toBe(file);
});
