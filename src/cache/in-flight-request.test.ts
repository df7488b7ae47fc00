import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
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

describe('who leaves', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const leaveAfter = async (ms: number, request: InFlightRequest): Promise<void> => {
    const caller = new AbortController();
    const wait = request.wait('0.m4s', caller.signal);
    vi.advanceTimersByTime(ms);
    caller.abort();
    await expect(wait).rejects.toMatchObject({ code: 'cancelled' });
  };

  test('ends a production that has begun a moment ago', async () => {
    const request = new InFlightRequest();
    await leaveAfter(4900, request);
    expect(request.isAbandoned).toBe(true);
  });

  test('finds one that takes longer than players wait when they ask again', async () => {
    const request = new InFlightRequest();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await leaveAfter(10_000, request);
      vi.advanceTimersByTime(3000);
    }
    const last = request.wait('0.m4s', undefined);
    vi.advanceTimersByTime(60_000);
    request.resolve('0.m4s', file);
    expect(await last).toBe(file);
    expect(request.isAbandoned).toBe(false);
  });

  test('ends it when nobody asks again', async () => {
    const request = new InFlightRequest();
    await leaveAfter(10_000, request);
    vi.advanceTimersByTime(5000);
    expect(request.isAbandoned).toBe(true);
  });
});
