import { describe, expect, it } from 'vitest';
import { systemClock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import type { ServiceCall, ServiceResponse } from './call-service.js';
import { SourceApi, type SourceApiOptions } from './source-api.js';

type Scripted = Partial<Omit<ServiceResponse, 'body'>> & { readonly json?: unknown; readonly text?: string };

/** The responses in order; `undefined` is a failure of the network. The last one is repeated. */
const scripted = (responses: readonly (Scripted | undefined)[], changes: Partial<SourceApiOptions> = {}) => {
  const calls: ServiceCall[] = [];
  const waits: number[] = [];
  const api = new SourceApi({
    ...{ url: 'https://api.example', tokenId: 'id', tokenSecret: 'secret', allowPrivate: false, ratePerSecond: 1000 },
    ...{ clock: systemClock, signal: new AbortController().signal, retryDelayMs: 1 },
    onWait: (_reason, waitMs) => void waits.push(waitMs),
    caller: {
      call: async (call) => {
        calls.push(call);
        const response = responses[Math.min(calls.length, responses.length) - 1];
        if (!response) throw new KinoraError('unavailable', { details: { reason: 'Error: connection reset' } });
        const { status = 200, json, text = JSON.stringify(json ?? { data: 'yes' }), ...rest } = response;
        return { contentType: 'application/json', ...rest, status, body: Buffer.from(text) };
      },
    },
    ...changes,
  });
  return { api, calls, waits };
};

describe('requests to a source', () => {
  it('have the credentials of the source, but not those to its streams', async () => {
    const { api, calls } = scripted([{}]);
    await expect(api.call('GET', '/video/v1/assets')).resolves.toEqual({ data: 'yes' });
    await api.getText('https://stream.example/a.m3u8');
    expect(calls.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['https://api.example/video/v1/assets', `Basic ${Buffer.from('id:secret').toString('base64')}`],
      ['https://stream.example/a.m3u8', undefined],
    ]);
  });

  it('wait as long as the source asks, and all of them do', async () => {
    const later = new Date(systemClock.now().getTime() + 60_000).toUTCString();
    const { api, waits } = scripted([
      { status: 429, retryAfter: '0' },
      { status: 429, retryAfter: later },
    ]);
    const stop = new AbortController();
    const limited = scripted([{ status: 429, retryAfter: '600' }], { signal: stop.signal });
    const first = limited.api.call('GET', '/a');
    const second = limited.api.call('GET', '/b');
    setTimeout(() => stop.abort(), 50);
    await expect(Promise.all([first, second])).rejects.toMatchObject({ code: 'cancelled' });
    // Ten minutes are not believed.
    expect(limited.waits[0]).toBe(300_000);
    expect(limited.calls.length).toBeLessThanOrEqual(2);
    api.call('GET', '/c').catch(() => undefined);
    await expect.poll(() => waits).toEqual([0, expect.closeTo(60_000, -4)]);
  });

  it('are repeated after failures of the source and the network', async () => {
    const { api, calls } = scripted([{ status: 503 }, undefined, { status: 500 }, { json: { data: [] } }]);
    await expect(api.call('PUT', '/a')).resolves.toEqual({ data: [] });
    expect(calls).toHaveLength(4);
  });

  it('are not repeated when that could do something twice', async () => {
    const broken = scripted([undefined]);
    await expect(broken.api.call('POST', '/a')).rejects.toMatchObject({
      code: 'unavailable',
      messages: ['The source https://api.example does not answer: connection reset.'],
    });
    expect(broken.calls).toHaveLength(1);
    const limited = scripted([{ status: 429, retryAfter: '0' }, {}]);
    await expect(limited.api.call('POST', '/a')).resolves.toEqual({ data: 'yes' });
  });

  it('end after six tries', async () => {
    const { api, calls } = scripted([undefined]);
    await expect(api.call('GET', '/a')).rejects.toMatchObject({ code: 'unavailable' });
    expect(calls).toHaveLength(6);
  });

  it('start at the given rate', async () => {
    const { api } = scripted([{}], { ratePerSecond: 100 });
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: 11 }, () => api.call('GET', '/a')));
    // Timers may fire a millisecond early.
    expect(performance.now() - startedMs).toBeGreaterThan(90);
    expect(api.requests).toBe(11);
  });

  it.each([
    [{ status: 401 }, 'unauthorized', /rejects the access token\. Check MUX_TOKEN_ID and MUX_TOKEN_SECRET\./],
    [{ status: 403, json: { error: { messages: ['No.'] } } }, 'forbidden', /^The source refuses GET \/a: No\.$/],
    [{ status: 404, text: '<html>' }, 'not_found', /^The source refuses GET \/a: status 404$/],
    [{ status: 200, text: '<html>' }, 'unavailable', /does not answer as the API does/],
    [{ status: 200, text: '{"data":[{"id":' }, 'unavailable', /does not answer as the API does/],
  ])('explain %j', async (response, code, message) => {
    const error = await scripted([response])
      .api.call('GET', '/a?limit=1')
      .catch((problem: unknown) => problem);
    expect(error).toMatchObject({ code, messages: [expect.stringMatching(message)] });
    expect(JSON.stringify(error)).not.toContain('secret');
  });
});
