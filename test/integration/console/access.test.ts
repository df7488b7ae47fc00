import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { type ConsoleSession, signIn } from '../../support/wire/console.js';
import { expectError } from '../../support/wire/expect-error.js';

let api: Api;
let admin: ConsoleSession;
beforeAll(async () => {
  api = await startApi({ allowPrivate: ['127.0.0.0/8'] });
  admin = await signIn(api);
});
afterAll(() => api?.stop());

describe('tokens', () => {
  it('are created with a secret that is shown once, listed and revoked', async () => {
    const expiresAt = new Date(Date.now() + 3600_000).toISOString();
    const body = { name: ' CI ', permissions: ['video:read', 'video:read'], expires_at: expiresAt };
    const response = await admin.call('POST', '/console/api/tokens', body);
    expect(response.status).toBe(201);
    const { secret, ...token } = await response.json();
    expect(token).toMatchObject({ name: 'CI', permissions: ['video:read'], expires_at: expiresAt, revoked_at: null });
    expect((await api.callAs(`${token.id}:${secret}`, 'GET', '/video/v1/assets')).status).toBe(200);

    const listed = await (await admin.call('GET', '/console/api/tokens')).json();
    expect(listed.data).toContainEqual(token);
    expect(JSON.stringify(listed)).not.toContain(secret);

    expect((await admin.call('DELETE', `/console/api/tokens/${token.id}`)).status).toBe(204);
    api.clock.aheadMs += 3001;
    expect((await api.callAs(`${token.id}:${secret}`, 'GET', '/video/v1/assets')).status).toBe(401);
    const again = await admin.call('DELETE', `/console/api/tokens/${token.id}`);
    await expectError(again, 404, 'not_found', [`There is no valid access token with the id ${token.id}.`]);
    expect(JSON.stringify(api.logger.lines)).not.toContain(secret);
  });

  it.each<[object, string]>([
    [{ permissions: ['video:read'] }, 'name must have 1 to 100 characters.'],
    [{ name: 'x'.repeat(101), permissions: ['video:read'] }, 'name must have 1 to 100 characters.'],
    [{ name: 'x\u0000', permissions: ['video:read'] }, 'name must be a text.'],
    [{ name: 'x' }, 'permissions must be a list with at least one permission, such as "video:read".'],
    [{ name: 'x', permissions: [] }, 'permissions must be a list with at least one permission, such as "video:read".'],
    [
      { name: 'x', permissions: ['root'] },
      'Unknown permission root; known ones: video:read, video:write, system:read, system:write, data:read, robots:read, robots:write',
    ],
    [
      { name: 'x', permissions: ['video:read'], expires_at: '2001-01-01T00:00:00Z' },
      'expires_at must be a time in the future, such as "2030-01-31T12:00:00Z".',
    ],
    [
      { name: 'x', permissions: ['video:read'], expires_at: 'tomorrow' },
      'expires_at must be a time in the future, such as "2030-01-31T12:00:00Z".',
    ],
    [
      { name: 'x', permissions: ['video:read'], environment_id: 'nobody' },
      'There is no environment with the id nobody.',
    ],
  ])('are refused as %j', async (body, message) => {
    await expectError(await admin.call('POST', '/console/api/tokens', body), 400, 'invalid_parameters', [message]);
  });
});

describe('environments', () => {
  it('are created, renamed and listed', async () => {
    const response = await admin.call('POST', '/console/api/environments', { name: 'Staging', type: 'development' });
    expect(response.status).toBe(201);
    const environment = await response.json();
    expect(environment).toMatchObject({ name: 'Staging', type: 'development', default_video_quality: 'basic' });
    const path = `/console/api/environments/${environment.id}`;
    const renamed = await admin.call('PATCH', path, { name: 'Stage', default_video_quality: 'plus' });
    expect(await renamed.json()).toEqual({ ...environment, name: 'Stage', default_video_quality: 'plus' });
    const { data } = await (await admin.call('GET', '/console/api/environments')).json();
    expect(data.map(({ name }: { name: string }) => name)).toEqual(['Default', 'Stage']);

    for (const call of [
      admin.call('POST', '/console/api/environments', { name: 'Default' }),
      admin.call('PATCH', path, { name: 'Default' }),
    ]) {
      const message = 'An environment with the name Default already exists.';
      await expectError(await call, 400, 'invalid_parameters', [message]);
    }
    expect((await admin.call('PATCH', path, {})).status).toBe(400);
    expect((await admin.call('PATCH', '/console/api/environments/nobody', { name: 'x' })).status).toBe(404);
    expect((await admin.call('POST', '/console/api/environments', { name: 'x', type: 'test' })).status).toBe(400);
  });
});

it('sessions of a token administer nothing and see only their environment', async () => {
  const editor = await signIn(api, api.token);
  const { id } = (editor.session as { environment: { id: string } }).environment;
  const refusals: [string, string, object?][] = [
    ['GET', '/tokens'],
    ['POST', '/tokens', { name: 'more', permissions: ['video:write'] }],
    ['DELETE', `/tokens/${api.token.split(':')[0]}`],
    ['POST', '/environments', { name: 'mine' }],
    ['PATCH', `/environments/${id}`, { name: 'mine' }],
  ];
  for (const [method, path, body] of refusals) {
    await expectError(await editor.call(method, `/console/api${path}`, body), 403, 'forbidden', [
      'This requires a session that was opened with a link. Print one with kinora console.',
    ]);
  }
  const { data } = await (await editor.call('GET', '/console/api/environments')).json();
  expect(data).toEqual([expect.objectContaining({ id, name: 'Default' })]);
});

it('operations show figures, checks and the jobs of an asset to administrators alone', async () => {
  const editor = await signIn(api, api.token);
  expect((await editor.call('GET', '/console/api/operations')).status).toBe(403);
  const inputs = [{ url: 'http://127.0.0.1:1/a.mp4' }];
  const { id } = (await (await admin.call('POST', '/video/v1/assets', { inputs })).json()).data;
  await admin.call('POST', '/video/v1/assets', { inputs });
  const response = await admin.call('GET', `/console/api/operations?asset_id=${id}`);
  const { server, checks, jobs } = await response.json();
  expect(server).toEqual({ version: 'of the test' });
  expect(checks).toEqual([{ name: 'database', status: 'ok' }]);
  expect(jobs).toEqual([expect.objectContaining({ queue: 'ingest', state: 'queued', asset_id: id, attempt: 0 })]);
});
