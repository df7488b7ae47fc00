import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { sendBytes, sendChunk } from '../../support/wire/uploading.js';

const STUDIO = 'https://studio.example.org';
const file = Buffer.alloc(1000, 'x');

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const create = async (corsOrigin?: string): Promise<{ id: string; url: string }> =>
  (await (await api.call('POST', '/video/v1/uploads', { cors_origin: corsOrigin })).json()).data;
const corsOf = ({ headers }: Response): Record<string, string> => {
  const found: Record<string, string> = {};
  headers.forEach((value, name) => {
    if (name.startsWith('access-control-')) found[name] = value;
  });
  return found;
};
const preflight = (url: string, origin: string, requested = 'content-range') =>
  fetch(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': requested },
  });

describe('a browser', () => {
  it('may ask beforehand', async () => {
    const { url } = await create(STUDIO);
    const response = await preflight(url, STUDIO, 'content-range, Content-Type, x-own');
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(corsOf(response)).toEqual({
      'access-control-allow-origin': STUDIO,
      'access-control-expose-headers': 'Range',
      'access-control-allow-methods': 'PUT, POST, PATCH, OPTIONS',
      'access-control-allow-headers': 'Content-Type, Content-Range, x-own',
      'access-control-max-age': '3600',
    });
    expect((await fetch(url, { method: 'OPTIONS' })).status).toBe(204);
  });

  it('may send from a public page to a server of a private network, if its origin may', async () => {
    const { url } = await create(STUDIO);
    for (const [origin, expected] of [
      [STUDIO, 'true'],
      ['https://elsewhere.example', null],
    ] as const) {
      const headers = { origin, 'access-control-request-private-network': 'true' };
      const response = await fetch(url, { method: 'OPTIONS', headers });
      expect(response.headers.get('access-control-allow-private-network')).toBe(expected);
    }
  });

  it.each<[string | undefined, string, string | undefined]>([
    [undefined, STUDIO, '*'],
    ['*', 'null', '*'],
    [STUDIO, STUDIO, STUDIO],
    [`${STUDIO}/`, STUDIO, STUDIO],
    [`${STUDIO}:443`, STUDIO, STUDIO],
    ['https://STUDIO.example.org', STUDIO, STUDIO],
    ['studio.example.org', STUDIO, STUDIO],
    ['studio.example.org', 'http://studio.example.org', 'http://studio.example.org'],
    ['localhost:3000', 'http://localhost:3000', 'http://localhost:3000'],
    [STUDIO, 'http://studio.example.org', undefined],
    [STUDIO, `${STUDIO}:8443`, undefined],
    [STUDIO, `${STUDIO}.evil.example`, undefined],
    [STUDIO, 'null', undefined],
    ['studio.example.org', 'https://evil.example', undefined],
    ['', STUDIO, undefined],
  ])('where %s is allowed reads answers on %s: %s', async (allowed, origin, expected) => {
    const { url } = await create(allowed);
    for (const response of [await preflight(url, origin), await sendChunkFrom(url, origin)]) {
      expect(response.headers.get('access-control-allow-origin')).toBe(expected ?? null);
      expect(response.headers.get('access-control-expose-headers')).toBe(expected === undefined ? null : 'Range');
      expect(response.headers.get('access-control-allow-credentials')).toBeNull();
      expect(response.headers.get('vary')).toBe(expected === '*' ? null : 'Origin');
      if (expected === undefined) expect(corsOf(response)).toEqual({});
    }
  });

  const sendChunkFrom = (url: string, origin: string) =>
    sendBytes(url, file.subarray(0, 10), { origin, 'content-range': 'bytes 0-9/1000' });

  it('of a page that is not allowed sends bytes all the same, and so does who is no browser', async () => {
    const { url } = await create(STUDIO);
    expect((await sendChunkFrom(url, 'https://evil.example')).status).toBe(308);
    expect((await sendChunk(url, file, 10, 1000)).status).toBe(200);
  });

  it('reads every refusal', async () => {
    const upload = await create(STUDIO);
    const gone = await create(STUDIO);
    await api.call('PUT', `/video/v1/uploads/${gone.id}/cancel`);
    const headers = { origin: STUDIO };
    const responses: [number, Response][] = [
      [400, await sendBytes(upload.url, file, { ...headers, 'content-range': 'nonsense' })],
      [403, await sendBytes(upload.url.replace('sig=', 'sig=x'), file, headers)],
      [405, await fetch(upload.url, { method: 'DELETE', headers })],
      [410, await sendBytes(gone.url, file, headers)],
      [413, await sendBytes(upload.url, file, { ...headers, 'content-range': 'bytes 0-999/9999999999' })],
      [416, await sendBytes(upload.url, file, { ...headers, 'content-range': 'bytes 1-1000/2000' })],
    ];
    for (const [status, response] of responses) {
      expect([response.status, corsOf(response)]).toEqual([
        status,
        { 'access-control-allow-origin': STUDIO, 'access-control-expose-headers': 'Range' },
      ]);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      await response.arrayBuffer();
    }
    const unknown = await sendBytes(upload.url.replace(upload.id, 'A'.repeat(40)), file, headers);
    expect([unknown.status, corsOf(unknown)]).toEqual([
      404,
      { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'Range' },
    ]);
  });
});
