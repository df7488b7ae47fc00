import { expect, test } from 'vitest';
import { createFlight } from './in-flight.js';

const file = { path: '/cache/0.m4s', sizeBytes: 1, etag: '"a"' };

test('who joins after the result is there is served at once', async () => {
  const flight = createFlight();
  const early = flight.wait('0.m4s', undefined);
  flight.resolve('0.m4s', file);
  const late = flight.wait('0.m4s', undefined);
  flight.fail(new Error('ended without committing'));
  expect(await early).toBe(file);
  expect(await late).toBe(file);
});
