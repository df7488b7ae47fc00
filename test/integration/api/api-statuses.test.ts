import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';

let api: Api;
let broken = false;
beforeAll(async () => {
  api = await startApi({
    streamPlugin: async (app) => {
      app.get('/:playbackId', async () => 'playlist');
      app.get('/:playbackId/:plan/:rendition/:file', async () => 'segment');
    },
    checks: {
      storage: async () => {
        if (broken) throw new Error('disk gone');
      },
    },
  });
});
afterAll(() => api?.stop());

const UNKNOWN = 'A'.repeat(40);
const inputs = 'https://media.example.org/walk.mp4';
const FORBIDDEN = 'The access token does not have permission for this operation';

const routes: [string, string][] = [
  ['POST', '/video/v1/assets'],
  ['GET', '/video/v1/assets'],
  ['GET', `/video/v1/assets/${UNKNOWN}`],
  ['PATCH', `/video/v1/assets/${UNKNOWN}`],
  ['DELETE', `/video/v1/assets/${UNKNOWN}`],
  ['DELETE', `/video/v1/assets/${UNKNOWN}/thumbnail-time`],
  ['GET', `/video/v1/assets/${UNKNOWN}/input-info`],
  ['POST', `/video/v1/assets/${UNKNOWN}/playback-ids`],
  ['GET', `/video/v1/assets/${UNKNOWN}/playback-ids/${UNKNOWN}`],
  ['DELETE', `/video/v1/assets/${UNKNOWN}/playback-ids/${UNKNOWN}`],
  ['GET', `/video/v1/playback-ids/${UNKNOWN}`],
  ['POST', '/video/v1/transcription-vocabularies'],
  ['GET', '/video/v1/transcription-vocabularies'],
  ['GET', `/video/v1/transcription-vocabularies/${UNKNOWN}`],
  ['PUT', `/video/v1/transcription-vocabularies/${UNKNOWN}`],
  ['DELETE', `/video/v1/transcription-vocabularies/${UNKNOWN}`],
  ['GET', '/video/v1/drm-configurations'],
  ['GET', `/video/v1/drm-configurations/${UNKNOWN}`],
  ['GET', '/video/v1/delivery-usage'],
  ['GET', '/system/v1/usage/exports'],
  ['GET', '/system/v1/whoami'],
];

describe('every operation answers', () => {
  it.each(routes)('401 to %s %s without credentials, before it reads the body', async (method, path) => {
    const response = await api.callAs(undefined, method, path, method === 'POST' ? '{' : undefined);
    await expectError(response, 401, 'unauthorized', ['Unauthorized request']);
    expect(response.headers.get('www-authenticate')).toBeNull();
  });

  it.each(routes.slice(0, -1))(
    '403 to %s %s without the permission, before it reads the body',
    async (method, path) => {
      const area = path.split('/')[1];
      const token = await api.newToken({
        name: 'other',
        permissions: [method === 'GET' ? `${area}:write` : `${area}:read`],
      });
      const response = await api.callAs(token, method, path, method === 'POST' ? '{' : undefined);
      await expectError(response, 403, 'forbidden', [FORBIDDEN]);
    },
  );

  it.each(routes.filter(([, path]) => path.includes(UNKNOWN)))('404 to %s %s', async (method, path) => {
    await expectError(await api.call(method, path), 404, 'not_found', [NOT_FOUND]);
  });

  it.each(routes.filter(([, path]) => path.includes(UNKNOWN)))(
    '404 to %s %s with malformed ids',
    async (method, path) => {
      for (const id of ['x', '%00', 'a%2Fb', 'a'.repeat(5000)]) {
        const response = await api.call(method, path.replaceAll(UNKNOWN, id));
        await expectError(response, 404, 'not_found', [NOT_FOUND]);
      }
    },
  );

  it.each([
    ['PUT', '/video/v1/assets', 'POST, GET, HEAD'],
    ['OPTIONS', '/video/v1/assets', 'POST, GET, HEAD'],
    ['POST', `/video/v1/assets/${UNKNOWN}`, 'GET, PATCH, DELETE, HEAD'],
    ['PROPFIND', `/video/v1/assets/${UNKNOWN}`, 'GET, PATCH, DELETE, HEAD'],
    ['DELETE', `/video/v1/assets/${UNKNOWN}/input-info`, 'GET, HEAD'],
    ['GET', `/video/v1/assets/${UNKNOWN}/playback-ids`, 'POST'],
    ['PATCH', `/video/v1/assets/${UNKNOWN}/playback-ids/${UNKNOWN}/`, 'GET, DELETE, HEAD'],
    ['POST', `/video/v1/playback-ids/${UNKNOWN}`, 'GET, HEAD'],
    ['PATCH', '/video/v1/transcription-vocabularies', 'POST, GET, HEAD'],
    ['PATCH', `/video/v1/transcription-vocabularies/${UNKNOWN}`, 'GET, PUT, DELETE, HEAD'],
    ['POST', '/video/v1/drm-configurations', 'GET, HEAD'],
    ['POST', '/video/v1/delivery-usage', 'GET, HEAD'],
    ['POST', '/system/v1/usage/exports', 'GET, HEAD'],
    ['POST', '/system/v1/whoami', 'GET, HEAD'],
  ])('405 to %s %s, whoever asks', async (method, path, allow) => {
    const response = await api.callAs(undefined, method, path);
    await expectError(response, 405, 'method_not_allowed', ['Method not allowed']);
    expect(response.headers.get('allow')).toBe(allow);
  });
});

describe('unknown paths', () => {
  it.each([
    ['GET', '/video'],
    ['GET', '/video/'],
    ['GET', '/video/v1'],
    ['GET', '/video/v1/nonsense'],
    ['POST', '/video/v1/nonsense'],
    ['GET', '/video/v1/web-inputs'],
    ['POST', `/video/v1/live-streams/${UNKNOWN}/events`],
    ['GET', '/data/v1/incidents'],
    ['GET', '/robots/v0/nonsense'],
    ['GET', '/system/v1/nothing/a'],
    ['GET', '/video/v1/Assets'],
    ['GET', '/video/v1/assets/%ff'],
    ['GET', '//video/v1/assets'],
    ['POST', '//video/v1/assets'],
    ['GET', '/Video/v1/assets'],
    ['POST', '/VIDEO/v1/assets'],
    ['GET', '/%56ideo/v1/assets'],
    ['DELETE', '//System/v1/webhooks/x'],
    ['GET', '/video%2fv1/assets'],
    ['GET', '/%2Fvideo/v1/assets'],
    ['POST', '/./video/v1/x'],
    ['GET', '/./video/v1/x'],
    ['GET', '/..//%2e/video/v1/x'],
  ])('of the API are %s %s not found, even without credentials', async (method, path) => {
    const text = await raw(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1.1 404 /);
    const { error } = JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
    expect([error.type, error.messages]).toEqual(['not_found', [expect.any(String)]]);
    expect(error.messages[0].startsWith(`There is no operation ${method} ${path}.`)).toBe(true);
    expect(error.messages[0]).toMatch(/ See \/docs for all operations\.$/);
    expect(text).toMatch(/^cache-control: no-store$/im);
    expect(text).toMatch(/^x-request-id: [0-9a-f-]{36}$/im);
    expect(text).not.toMatch(/^access-control-/im);
  });

  it.each([
    ['POST', '/video/v1/web-inputs', 'web inputs'],
    ['POST', '/video/v1/spaces', 'spaces'],
    ['GET', '/data/v1/incidents?status=open', 'incidents: it does not watch for anomalies'],
    ['GET', '/data/v1/incidents/abcd1234/related', 'incidents: it does not watch for anomalies'],
    ['GET', '/data/v1/subview-metrics/playing_time/rendition/overall', 'metrics of parts of a view'],
  ])('that the Mux API has say what is missing: %s %s', async (method, path, what) => {
    await expectError(await api.callAs(undefined, method, path), 404, 'not_found', [
      `There is no operation ${method} ${path.split('?')[0]}. Kinora has no ${what}. See /docs for all operations.`,
    ]);
  });

  it('are shortened in the message', async () => {
    const response = await api.callAs(undefined, 'GET', `/video/v1/${'a'.repeat(5000)}`);
    await expectError(response, 404, 'not_found', [
      `There is no operation GET /video/v1/${'a'.repeat(90)}…. See /docs for all operations.`,
    ]);
  });

  it.each(['http://x/video/v1/assets?limit=1', '/%76ideo/v1/assets?limit=1'])(
    'are told from known ones however the target is written: %s',
    async (target) => {
      const end = ` HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${btoa(api.token)}\r\nConnection: close\r\n\r\n`;
      const found = await raw(`GET ${target}${end}`);
      expect(found).toMatch(/^HTTP\/1.1 200 /);
      expect(found).toMatch(/^cache-control: no-store$/im);
      const refused = await raw(`PUT ${target}${end}`);
      expect(refused).toMatch(/^HTTP\/1.1 405 /);
      expect(refused).toMatch(/^allow: POST, GET, HEAD$/im);
      expect(refused).not.toMatch(/^access-control-/im);
      const invalid = await raw(`GET ${target.replace('=1', '=x')}${end}`);
      expect(invalid).toContain('{"error":{"type":"invalid_parameters"');
    },
  );

  it('with a body that cannot be read are still not found', async () => {
    const response = await api.call('POST', '/video/v1/nonsense', '{', { 'content-type': 'text/plain' });
    await expectError(response, 404, 'not_found', [
      'There is no operation POST /video/v1/nonsense. See /docs for all operations.',
    ]);
  });

  it.each(['/a/b', '/a/b/c/d/e', '/%ff'])('of playback have the shape of playback: %s', async (path) => {
    const response = await fetch(`${api.origin}${path}`);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 404,
      body: { code: 5, message: 'Not Found' },
    });
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])('to change have the shape of the API: %s', async (method) => {
    for (const path of ['/_unknown_path', '/a/b/c/d/e', '/%ff']) {
      const response = await fetch(`${api.origin}${path}`, { method });
      await expectError(response, 404, 'not_found', [
        `There is no operation ${method} ${path}. See /docs for all operations.`,
      ]);
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
  });

  it('do not hide the playback routes', async () => {
    expect(await (await fetch(`${api.origin}/videos`)).text()).toBe('playlist');
    expect(await (await fetch(`${api.origin}/a/b/c/d`)).text()).toBe('segment');
  });
});

const raw = (request: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1', () => socket.write(request));
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });

describe('a request that is not valid HTTP gets an error of the API and its connection is closed:', () => {
  const host = 'Host: x\r\n';
  const MANY_HOSTS = 'The request has more than one Host header';
  const NOT_HTTP = 'The request is not valid HTTP';
  it.each([
    ['an unknown method', 400, NOT_HTTP, `FOO /x HTTP/1.1\r\n${host}\r\n`],
    ['no HTTP at all', 400, NOT_HTTP, '\x16\x03\x01\r\n\r\n'],
    ['a header over the limit', 431, 'Request headers are too large', `GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}\r\n`],
    ['a body of broken chunks', 400, NOT_HTTP, `POST /zz HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    ['no host', 400, 'The request has no Host header', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['two hosts, reading', 400, MANY_HOSTS, `GET /a/b HTTP/1.1\r\n${host}${host}\r\n`],
    ['two hosts, changing', 400, MANY_HOSTS, `POST /zz HTTP/1.1\r\n${host}${host}\r\n`],
    ['two hosts, no valid path', 400, MANY_HOSTS, `GET /%zz HTTP/1.1\r\n${host}${host}\r\n`],
  ])('%s', async (_, status, message, request) => {
    const types: Record<number, string> = { 400: 'invalid_parameters', 431: 'headers_too_large' };
    // Resolves when the server has closed the connection.
    const [head, body] = (await raw(request)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/^content-type: application\/json; charset=utf-8$/im);
    expect(head).toMatch(/^connection: close$/im);
    expect(head).toMatch(new RegExp(`^content-length: ${body!.length}$`, 'im'));
    expect(JSON.parse(body!)).toEqual({ error: { type: types[status], messages: [message] } });
  });

  it('but HTTP/1.0 needs no host', async () => {
    expect(await raw('GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('bodies', () => {
  const path = '/video/v1/assets';
  it('over 1 MiB get 413', async () => {
    const body = JSON.stringify({ inputs, passthrough: 'x'.repeat(1024 * 1024) });
    await expectError(await api.call('POST', path, body), 413, 'payload_too_large', ['Request body is too large']);
  });

  it('over 1 MiB that do not say so get 413', async () => {
    const body = new Blob(['x'.repeat(1024 * 1024 + 1)]).stream();
    const headers = { authorization: `Basic ${btoa(api.token)}`, 'content-type': 'application/json' };
    const response = await fetch(`${api.origin}${path}`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit);
    await expectError(response, 413, 'payload_too_large', ['Request body is too large']);
  });

  /** A connection of a client that reads when it has sent everything. */
  const openWriter = () => {
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1').pause();
    const failed = once(socket, 'error').then(([error]) => Promise.reject(error));
    failed.catch(() => undefined);
    const send = (bytes: Buffer | string) =>
      Promise.race([failed, new Promise<unknown>((resolve) => socket.write(bytes, resolve))]);
    return { socket, send };
  };
  it.each(['content-length', 'chunked'])(
    'over 1 MiB get 413 from a client that reads only when it has sent everything: %s',
    async (kind) => {
      const part = Buffer.alloc(2 ** 20, 'x');
      const parts = 16;
      const framing = kind === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${parts * part.length}`;
      const credentials = `Authorization: Basic ${btoa(api.token)}`;
      for (let round = 0; round < 20; round += 1) {
        const { socket, send } = openWriter();
        await send(`POST ${path} HTTP/1.1\r\nHost: a\r\n${credentials}\r\n${framing}\r\n\r\n`);
        for (let count = 0; count < parts; count += 1) {
          if (kind === 'chunked') await send(`${part.length.toString(16)}\r\n`);
          await send(part);
          if (kind === 'chunked') await send('\r\n');
        }
        if (kind === 'chunked') await send('0\r\n\r\n');
        // On the same connection, which goes on.
        await send('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
        const response = (await socket.toArray()).join('');
        expect(response).toMatch(/^HTTP\/1\.1 413 .*Request body is too large.*HTTP\/1\.1 200 /s);
      }
    },
  );

  it('that do not end are not read for ever', async () => {
    const { send } = openWriter();
    await send(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\n`);
    const part = Buffer.alloc(2 ** 20);
    const sendMuch = async () => {
      for (let count = 0; count < 200; count += 1) await send(part);
    };
    await expect(sendMuch()).rejects.toMatchObject({ code: expect.stringMatching(/EPIPE|ECONNRESET/) });
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'nonsense'])(
    'as %s get 415',
    async (type) => {
      const response = await api.call('POST', path, '{}', { 'content-type': type });
      await expectError(response, 415, 'unsupported_media_type', ['Content-Type must be application/json']);
    },
  );

  it('that are compressed get 415', async () => {
    const response = await fetch(`${api.origin}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(api.token)}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: gzipSync(JSON.stringify({ inputs })),
    });
    await expectError(response, 415, 'unsupported_media_type', ['Content-Encoding is not supported']);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'application/vnd.x+json'])(
    'as %s are read',
    async (type) => {
      expect((await api.call('POST', path, { inputs }, { 'content-type': type })).status).toBe(201);
    },
  );

  it('that break off are no failure of the server', async () => {
    const before = api.logger.lines.length;
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
    const sent =
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${btoa(api.token)}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{}';
    socket.write(sent, () => setTimeout(() => socket.destroy(), 100));
    const newLines = () => api.logger.lines.slice(before);
    await expect
      .poll(newLines)
      .toContainEqual(
        expect.objectContaining({ level: 'debug', message: 'client disconnected before its request was complete' }),
      );
    expect(newLines().filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('without a type are read as JSON', async () => {
    const body = JSON.stringify({ inputs });
    const text = await raw(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${btoa(api.token)}\r\nConnection: close\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(text).toMatch(/^HTTP\/1.1 201 /);
  });

  it('of reading requests do not matter, nor does a trailing slash', async () => {
    expect((await api.call('GET', `${path}/`, undefined, { 'content-type': 'text/plain' })).status).toBe(200);
    expect((await api.call('DELETE', `${path}/${UNKNOWN}/`, '{', { 'content-type': 'application/json' })).status).toBe(
      400,
    );
  });
});

describe('answers', () => {
  it('carry a request id of ours, forbid storing and allow no other origin', async () => {
    const headers = { origin: 'https://example.org', 'x-request-id': 'mine' };
    const found = await api.call('GET', '/video/v1/assets', undefined, headers);
    const other = await api.call('GET', '/video/v1/nonsense', undefined, headers);
    for (const response of [found, other]) {
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
    expect(found.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(found.headers.get('x-request-id')).not.toBe(other.headers.get('x-request-id'));
  });

  it('are logged with their request id and without what is secret', async () => {
    const response = await api.call('GET', '/video/v1/assets?token=hidden-token');
    const requestId = response.headers.get('x-request-id');
    const line = await expect.poll(() => api.logger.lines.find(({ fields }) => fields.request_id === requestId));
    await line.toMatchObject({
      level: 'info',
      fields: { method: 'GET', path: '/video/v1/assets', status: 200, token_id: api.token.split(':')[0] },
    });
    const log = JSON.stringify(api.logger.lines);
    expect(log).not.toContain('hidden-token');
    expect(log).not.toContain(api.token.split(':')[1]);
  });

  it('to HEAD have no body', async () => {
    const response = await api.call('HEAD', '/system/v1/whoami');
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });
});

describe('health', () => {
  it('the bare address says what answers there', async () => {
    const response = await fetch(api.origin);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const page = await response.text();
    expect(page).toContain('Kinora is running');
    // The console has files only after its own build.
    for (const [, path] of page.matchAll(/href="((?!\/console")[^"]+)"/g))
      expect((await fetch(`${api.origin}${path}`)).status, path).toBe(200);
  });

  it.each([
    ['/favicon.ico', 200, 'image/svg+xml', /^<svg .*<\/svg>\n$/],
    ['/robots.txt', 200, 'text/plain; charset=utf-8', /^User-agent: \*\nDisallow: \/video\/\n/],
  ])('%s is no video page', async (path, status, type, body) => {
    const response = await fetch(`${api.origin}${path}`, { headers: { accept: 'text/html' } });
    expect([response.status, response.headers.get('content-type')]).toEqual([status, type]);
    expect(await response.text()).toMatch(body);
  });

  it.each(['/', '/healthz', '/healthz/', '/readyz', '/docs', '/openapi.json', '/robots.txt', '/%68ealthz'])(
    '%s can only be read',
    async (path) => {
      for (const method of ['POST', 'DELETE', 'PROPFIND']) {
        const response = await fetch(`${api.origin}${path}`, { method });
        await expectError(response, 405, 'method_not_allowed', ['Method not allowed']);
        expect(response.headers.get('allow')).toBe('GET, HEAD');
      }
      expect((await fetch(`${api.origin}${path}`, { method: 'HEAD' })).status).toBe(200);
    },
  );

  it('tells that the process is alive and its parts are ready', async () => {
    const alive = await fetch(`${api.origin}/healthz`);
    const ready = await fetch(`${api.origin}/readyz`);
    expect([alive.status, await alive.json(), ready.status, await ready.json()]).toEqual([
      200,
      { status: 'ok' },
      200,
      { status: 'ok' },
    ]);
  });

  it('names the part that is not ready', async () => {
    broken = true;
    const ready = await fetch(`${api.origin}/readyz`);
    broken = false;
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'unavailable', failed: ['storage'] }]);
    expect((await fetch(`${api.origin}/healthz`)).status).toBe(200);
  });
});

it('a database that cannot be reached makes 503 with a time to come back', async () => {
  const token = await api.newToken({ name: 'not in memory' });
  await api.database.close();
  for (const response of [
    await api.call('GET', '/video/v1/assets'),
    await api.callAs(token, 'GET', '/system/v1/whoami'),
  ]) {
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectError(response, 503, 'unavailable', ['Service temporarily unavailable']);
  }
});
