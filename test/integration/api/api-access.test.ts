import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthenticate } from '#kinora/domain/access/authenticate.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import { listEnvironments } from '#kinora/domain/access/environments.js';
import { listTokens } from '#kinora/domain/access/tokens.js';
import { newUuid } from '#kinora/lib/ids.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const whoami = (authorization?: string) =>
  fetch(`${api.origin}/system/v1/whoami`, authorization === undefined ? {} : { headers: { authorization } });
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('credentials', () => {
  it('of the first token name the caller', async () => {
    const response = await whoami(basic(api.token));
    expect(await response.json()).toEqual({
      data: {
        access_token_name: 'First token',
        environment_id: expect.stringMatching(/^[a-z0-9]{6}$/),
        environment_name: 'Default',
        environment_type: 'production',
        organization_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        organization_name: 'Kinora',
        permissions: [
          ...['video:read', 'video:write', 'system:read', 'system:write', 'data:read', 'robots:read', 'robots:write'],
        ],
      },
    });
    expect(api.token).toMatch(/^[0-9a-f-]{36}:[A-Za-z0-9_-]{75}$/);
    expect((await whoami(basic(api.token.replace(/^[^:]+/, (id) => id.toUpperCase())))).status).toBe(200);
  });

  it.each<[string, () => string | undefined]>([
    ['none', () => undefined],
    ['an empty header', () => ''],
    ['no base64', () => 'Basic ***'],
    ['no colon', () => basic('abc')],
    ['a wrong secret', () => basic(`${api.token}x`)],
    ['an empty secret', () => basic(`${api.token.split(':')[0]}:`)],
    ['an unknown id', () => basic(`${newUuid()}:${api.token.split(':')[1]}`)],
    ['an unknown id with an empty secret', () => basic(`${newUuid()}:`)],
    ['an id that is no UUID', () => basic(`admin:${api.token.split(':')[1]}`)],
    ['a bearer token', () => `Bearer ${api.token}`],
    ['another scheme', () => `Digest ${basic(api.token).slice(6)}`],
  ])('are refused: %s', async (_, authorization) => {
    await expectError(await whoami(authorization()), 401, 'unauthorized', ['Unauthorized request']);
  });

  it('that were revoked are refused within five seconds', async () => {
    const token = await api.newToken({ name: 'short-lived' });
    expect((await whoami(basic(token))).status).toBe(200);
    await api.revoke(token.split(':')[0]!);
    api.clock.aheadMs += 4900;
    await expectError(await whoami(basic(token)), 401, 'unauthorized', ['Unauthorized request']);
    await expect(api.revoke(token.split(':')[0]!)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('are refused after the same queries whether their id exists or not', async () => {
    const { queryable } = api.database;
    const queries: string[] = [];
    const recorded = queryable.withPlugin({
      transformQuery: ({ node }) => {
        queries.push(node.kind);
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const authenticate = createAuthenticate({ ...api.database, queryable: recorded }, api.clock);
    const asked = async (credentials: string) => {
      queries.length = 0;
      const caller = await authenticate(basic(credentials)).catch((error: { code: string }) => error.code);
      return [typeof caller === 'string' ? caller : caller.tokenName, ...queries];
    };
    const [id, secret] = api.token.split(':');
    expect(await asked(`${newUuid()}:${secret}`)).toEqual(['unauthorized', 'SelectQueryNode']);
    // Before and after the token is in memory.
    expect(await asked(`${id}:wrong`)).toEqual(['unauthorized', 'SelectQueryNode']);
    expect(await asked(api.token)).toEqual(['First token']);
    expect(await asked(`${id}:wrong`)).toEqual(['unauthorized', 'SelectQueryNode']);
    expect(await asked(api.token)).toEqual(['First token']);
  });

  it('work for whoami without any permission', async () => {
    const token = await api.newToken({ name: 'nothing', permissions: [] });
    expect((await whoami(basic(token))).status).toBe(200);
  });

  it('with unknown permissions or environments are not made', async () => {
    await expect(api.newToken({ name: 'x', permissions: ['video:fly'] })).rejects.toMatchObject({
      code: 'invalid_parameters',
    });
    await expect(api.newToken({ name: 'x', environmentId: 'nobody' })).rejects.toMatchObject({
      code: 'invalid_parameters',
    });
  });

  it('are stored without their secret', async () => {
    const rows = await api.database.queryable.selectFrom('access_token').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(api.token.split(':')[1]);
    expect((await listTokens(api.database))[0]).toMatchObject({ id: api.token.split(':')[0], revokedAt: undefined });
  });
});

it('environments do not see each other', async () => {
  const environment = await api.newEnvironment('Staging');
  await expect(api.newEnvironment('Staging')).rejects.toMatchObject({ code: 'invalid_parameters' });
  const other = await api.newToken({ name: 'staging', environmentId: environment.id });
  const body = { inputs: 'https://media.example.org/walk.mp4', playback_policies: 'public' };
  const { id, playback_ids: playbackIds } = (await (await api.call('POST', '/video/v1/assets', body)).json()).data;
  const asset = `/video/v1/assets/${id}`;
  const foreign: [string, string, unknown?][] = [
    ['GET', asset],
    ['DELETE', asset],
    ['GET', `${asset}/input-info`],
    ['POST', `${asset}/playback-ids`, { policy: 'public' }],
    ['GET', `${asset}/playback-ids/${playbackIds[0].id}`],
    ['DELETE', `${asset}/playback-ids/${playbackIds[0].id}`],
    ['GET', `/video/v1/playback-ids/${playbackIds[0].id}`],
  ];
  for (const [method, path, json] of foreign) {
    await expectError(await api.callAs(other, method, path, json), 404, 'not_found', [NOT_FOUND]);
  }
  expect((await (await api.callAs(other, 'GET', '/video/v1/assets')).json()).data).toEqual([]);
  expect((await api.call('GET', asset)).status).toBe(200);
});

describe('a later start', () => {
  it('makes nothing new', async () => {
    const before = [await listTokens(api.database), await listEnvironments(api.database)];
    expect(await bootstrap(api.database, { dataDir: api.blobDir }, api.clock)).toEqual({ firstStart: false });
    expect([await listTokens(api.database), await listEnvironments(api.database)]).toEqual(before);
  });

  it.each([`${newUuid().toUpperCase()}:with:colons`, 'ci-runner:secret'])('makes the token %j, once', async (token) => {
    await bootstrap(api.database, { dataDir: api.blobDir, token }, api.clock);
    await bootstrap(api.database, { dataDir: api.blobDir, token }, api.clock);
    expect((await whoami(basic(token))).status).toBe(200);
    await expect(
      bootstrap(api.database, { dataDir: api.blobDir, token: `${token}x` }, api.clock),
    ).rejects.toMatchObject({
      code: 'config_invalid',
    });
  });

  it.each(['secret', 'i d:secret', 'ci-runner:', `${newUuid()}:`, `${newUuid()}`, ''])(
    'refuses the token %j',
    async (token) => {
      expect(() => bootstrap(api.database, { dataDir: api.blobDir, token }, api.clock)).toThrow(
        'KINORA_TOKEN must be id:secret',
      );
    },
  );
});
