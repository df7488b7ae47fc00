import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createConsoleLink } from '#kinora/domain/access/sessions.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { openSession, signIn } from '../../support/wire/console.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi({ trustedProxies: true });
});
afterAll(() => api?.stop());

let addresses = 0;
/**
 * Each sign-in that is to fail comes from its own address, so that only the test of the limit meets
 * it.
 */
const elsewhere = () => ({ 'x-forwarded-for': `192.0.2.${++addresses}` });
const newLink = () => createConsoleLink(api.database, api.clock);
const whoami = (headers: Record<string, string>) =>
  api.callAs(undefined, 'GET', '/system/v1/whoami', undefined, headers);

describe('a link', () => {
  it('signs in once, as an administrator of the default environment', async () => {
    const link = await newLink();
    const response = await openSession(api, { link }, elsewhere());
    expect(response.status).toBe(201);
    expect(response.headers.get('set-cookie')).toMatch(
      /^kinora_session_[0-9a-f]{12}=[\w-]{75}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    expect(await response.json()).toEqual({
      environment: { id: expect.stringMatching(/^[a-z0-9]{6}$/), name: 'Default', type: 'production' },
      permissions: expect.arrayContaining(['video:write', 'system:write']),
      csrf_token: expect.stringMatching(/^[\w-]{43}$/),
      expires_at: expect.stringMatching(/Z$/),
      version: expect.stringMatching(/^\d+\./),
      can_administer: true,
      api_url: api.origin,
      stream_url: api.origin,
      image_url: api.origin,
      data_host: new URL(api.origin).host,
    });
    const again = await openSession(api, { link }, elsewhere());
    expect(again.headers.get('set-cookie')).toBeNull();
    await expectError(again, 401, 'unauthorized', ['The link was already used. Print a new one with kinora console.']);
  });

  it('signs in only one of two visitors that arrive together', async () => {
    const link = await newLink();
    const responses = await Promise.all([1, 2, 3, 4].map(() => openSession(api, { link }, elsewhere())));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401]);
  });

  it('expires after an hour, and an unknown one is refused', async () => {
    const link = await newLink();
    api.clock.daysAhead = 1.01 / 24;
    const late = await openSession(api, { link }, elsewhere());
    api.clock.daysAhead = 0;
    await expectError(late, 401, 'unauthorized', ['The link has expired. Print a new one with kinora console.']);
    for (const unknown of ['', 'x', link.slice(1), '\u0000', 'é'.repeat(5000)]) {
      const response = await openSession(api, { link: unknown }, elsewhere());
      expect([400, 401]).toContain(response.status);
    }
  });
});

describe('a token', () => {
  it('signs in with its environment and its permissions', async () => {
    const environment = await api.newEnvironment('For editors');
    const token = await api.newToken({ name: 'editor', environmentId: environment.id, permissions: ['video:read'] });
    const { session, call } = await signIn(api, token);
    expect(session).toMatchObject({
      environment: { id: environment.id, name: 'For editors' },
      permissions: ['video:read'],
      can_administer: false,
    });
    expect((await call('GET', '/video/v1/assets')).status).toBe(200);
    expect((await call('POST', '/video/v1/assets', {})).status).toBe(403);
    const move = await call('PATCH', '/console/api/session', { environment_id: environment.id });
    await expectError(move, 403, 'forbidden', ['A session of an access token stays in the environment of the token.']);
  });

  it.each<[string, (id: string, secret: string) => object]>([
    ['a wrong secret', (id, secret) => ({ token_id: id, token_secret: `${secret}x` })],
    ['an unknown ID', (_, secret) => ({ token_id: 'somebody', token_secret: secret })],
    ['an empty secret', (id) => ({ token_id: id, token_secret: '' })],
    ['a secret with the ID in it', (id, secret) => ({ token_id: `${id}:${secret}`, token_secret: '' })],
  ])('is refused with %s', async (_, body) => {
    const [id, secret] = api.token.split(':');
    const response = await openSession(api, body(id!, secret!), elsewhere());
    await expectError(response, 401, 'unauthorized', [
      'The token ID or the secret is wrong, or the token was revoked or has expired.',
    ]);
  });

  it('ends its sessions when it is revoked or expires', async () => {
    const revoked = await api.newToken({ name: 'short' });
    const { cookie } = await signIn(api, revoked);
    expect((await whoami({ cookie })).status).toBe(200);
    await api.revoke(revoked.split(':')[0]!);
    api.clock.aheadMs += 3001;
    expect((await whoami({ cookie })).status).toBe(401);

    const expiresAt = new Date(Date.now() + 3600_000);
    const expiring = await api.newToken({ name: 'for an hour', expiresAt });
    const session = await signIn(api, expiring);
    expect((await whoami({ cookie: session.cookie })).status).toBe(200);
    api.clock.daysAhead = 1.01 / 24;
    expect((await whoami({ cookie: session.cookie })).status).toBe(401);
    expect((await api.callAs(expiring, 'GET', '/system/v1/whoami')).status).toBe(401);
    api.clock.daysAhead = 0;
  });
});

describe('a session', () => {
  it('is accepted by the API in place of a token', async () => {
    const { call, cookie, csrf } = await signIn(api);
    expect((await (await whoami({ cookie })).json()).data).toMatchObject({ access_token_name: 'Console' });
    const created = await call('POST', '/video/v1/assets', { inputs: [{ url: 'https://example.com/a.mp4' }] });
    expect(created.status).toBe(201);
    const { data } = await created.json();
    expect((await call('GET', `/robots/v0/directives`)).status).toBe(200);

    const path = `/video/v1/assets/${data.id}`;
    const refusals: Record<string, string>[] = [
      { cookie },
      { cookie, 'x-csrf-token': '' },
      { cookie, 'x-csrf-token': `${csrf.slice(0, -1)}${csrf.endsWith('A') ? 'B' : 'A'}` },
      { cookie, 'x-csrf-token': (await signIn(api)).csrf },
    ];
    for (const headers of refusals) {
      const response = await api.callAs(undefined, 'DELETE', path, undefined, headers);
      await expectError(response, 403, 'forbidden', ['The X-CSRF-Token header is missing or wrong. Reload the page.']);
    }
    expect((await call('DELETE', path)).status).toBe(204);
  });

  it('is ignored beside an Authorization header', async () => {
    const { cookie, csrf } = await signIn(api);
    const headers = { cookie, 'x-csrf-token': csrf };
    expect((await whoami({ ...headers, authorization: 'Basic bm9ib2R5Ong=' })).status).toBe(401);
    expect((await whoami({ ...headers, authorization: '' })).status).toBe(401);
    const token = await api.newToken({ name: 'its own name' });
    const response = await api.callAs(token, 'GET', '/system/v1/whoami', undefined, headers);
    expect((await response.json()).data.access_token_name).toBe('its own name');
  });

  it('ends after 12 hours without use, and after 7 days in any case', async () => {
    const idle = await signIn(api);
    const used = await signIn(api);
    for (let day = 0.4; day < 7; day += 0.4) {
      api.clock.daysAhead = day;
      expect((await whoami({ cookie: used.cookie })).status).toBe(200);
      if (day > 0.5) expect((await whoami({ cookie: idle.cookie })).status).toBe(401);
      const { expires_at } = await (await used.call('GET', '/console/api/session')).json();
      expect(new Date(expires_at).getTime()).toBeGreaterThan(api.clock.now().getTime());
    }
    api.clock.daysAhead = 7.001;
    expect((await whoami({ cookie: used.cookie })).status).toBe(401);
    api.clock.daysAhead = 0;
  });

  it('ends when the user signs out', async () => {
    const { call, cookie } = await signIn(api);
    expect((await call('DELETE', '/console/api/session', undefined, { 'x-csrf-token': 'no' })).status).toBe(403);
    const response = await call('DELETE', '/console/api/session');
    expect(response.status).toBe(204);
    expect(response.headers.get('set-cookie')).toMatch(/^kinora_session_[0-9a-f]{12}=; Path=\/; Max-Age=0;/);
    await expectError(await whoami({ cookie }), 401, 'unauthorized', ['The session has ended. Sign in again.']);
    const gone = await api.callAs(undefined, 'GET', '/console/api/session');
    await expectError(gone, 401, 'unauthorized', ['Sign in to the console first.']);
  });

  it('of a link switches environments, and sees only the one it is in', async () => {
    const other = await api.newEnvironment('Elsewhere');
    const inOther = await api.newToken({ name: 'other', environmentId: other.id });
    const created = await api.callAs(inOther, 'POST', '/video/v1/assets', {
      inputs: [{ url: 'https://example.com/b.mp4' }],
    });
    const { id } = (await created.json()).data;
    const { call } = await signIn(api);
    const ids = async () =>
      (await (await call('GET', '/console/api/assets')).json()).data.map((asset: { id: string }) => asset.id);
    expect(await ids()).not.toContain(id);
    expect((await call('GET', `/video/v1/assets/${id}`)).status).toBe(404);
    const moved = await call('PATCH', '/console/api/session', { environment_id: other.id });
    expect(await moved.json()).toMatchObject({ environment: { id: other.id, name: 'Elsewhere' } });
    expect(await ids()).toEqual([id]);
    expect((await call('PATCH', '/console/api/session', { environment_id: 'nothere' })).status).toBe(400);
  });

  it('has a Secure cookie behind HTTPS, trusted proxy or not', async () => {
    const headers = { ...elsewhere(), 'x-forwarded-proto': 'https' };
    const response = await openSession(api, { link: await newLink() }, headers);
    const cookie = response.headers.get('set-cookie')!;
    expect(cookie).toMatch(/^__Host-kinora_session_[0-9a-f]{12}=[\w-]{75}; Path=\/; .*; Secure$/);
    const [pair] = cookie.split(';') as [string];
    expect((await whoami({ ...headers, cookie: pair })).status).toBe(200);
    // A page of another host below the same domain can set a cookie without the prefix.
    expect((await whoami({ ...headers, cookie: pair.replace('__Host-', '') })).status).toBe(401);
    expect((await whoami({ cookie: pair })).status).toBe(401);
  });

  it('accepts none of several cookies', async () => {
    const newCookie = async (): Promise<string> =>
      (await openSession(api, { link: await newLink() }, elsewhere())).headers.get('set-cookie')!.split(';')[0]!;
    const [own, other] = [await newCookie(), await newCookie()];
    const several = [
      'The browser has several sessions of the console. Delete the cookies of this site, and sign in again.',
    ];
    const invalid = own.replace(/=.*/, '=guessed');
    for (const cookie of [`${other}; ${own}`, `${invalid}; a=b; ${own}`, `${own};${invalid}`])
      await expectError(await whoami({ cookie }), 401, 'unauthorized', several);
    expect((await whoami({ cookie: `${own}; ${own}` })).status).toBe(200);
    const authorization = `Basic ${btoa(api.token)}`;
    expect((await whoami({ authorization, cookie: `${other}; ${own}` })).status).toBe(200);
  });
});

describe('signing in', () => {
  it('is limited for each address', async () => {
    const from = elsewhere();
    for (let i = 0; i < 10; i++) expect((await openSession(api, { link: `guess ${i}` }, from)).status).toBe(401);
    const refused = await openSession(api, { link: await newLink() }, from);
    expect(refused.headers.get('retry-after')).toBe('6');
    await expectError(refused, 429, 'too_many_requests', [
      'There were too many attempts to sign in. Try again in a few seconds.',
    ]);
    expect((await openSession(api, { link: await newLink() }, elsewhere())).status).toBe(201);
    api.clock.aheadMs += 6001;
    expect((await openSession(api, { link: await newLink() }, from)).status).toBe(201);
  });

  it('is refused for other sites, and for what is no request to sign in', async () => {
    const link = await newLink();
    for (const site of ['cross-site', 'same-site'])
      expect((await openSession(api, { link }, { ...elsewhere(), 'sec-fetch-site': site })).status).toBe(403);
    expect((await openSession(api, { link }, { ...elsewhere(), 'content-type': 'text/plain' })).status).toBe(415);
    for (const body of [{}, { link: 7 }, { token_id: 'a' }, [], 'null', '"x"', '{']) {
      expect((await openSession(api, body as object, elsewhere())).status).toBe(400);
    }
  });

  it('leaves no secret in the log or the database', async () => {
    const link = await newLink();
    const response = await openSession(api, { link }, elsewhere());
    const secret = /=([\w-]+);/.exec(response.headers.get('set-cookie')!)![1]!;
    const logged = JSON.stringify(api.logger.lines);
    const stored = JSON.stringify([
      await api.database.queryable.selectFrom('console_link').selectAll().execute(),
      await api.database.queryable.selectFrom('console_session').selectAll().execute(),
    ]);
    for (const text of [logged, stored]) {
      expect(text).not.toContain(link);
      expect(text).not.toContain(secret);
    }
    expect(logged).toContain('console sign-in');
  });
});

it('unknown paths of the console are answered as errors of the API', async () => {
  const { call } = await signIn(api);
  for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
    await expectError(await call(method, '/console/api/nothing'), 404, 'not_found', [NOT_FOUND]);
});
