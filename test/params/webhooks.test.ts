import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

const WEBHOOKS = '/system/v1/webhooks';
const ADDRESS = 'https://hooks.example.org/in';
const names: Record<string, string> = {
  'hooks.example.org': '93.184.215.14',
  'other.example.org': '93.184.215.14',
  'inside.example.org': '10.0.0.7',
};

let api: Api;
beforeAll(async () => {
  api = await startApi({
    allowPrivate: ['127.0.0.1/32'],
    resolve: async (name) => {
      const address = names[name];
      if (address === undefined) throw new Error('no such name');
      return [{ address, family: 4 }];
    },
  });
});
afterAll(() => api?.stop());

const create = async (address: string) => (await (await api.call('POST', WEBHOOKS, { address })).json()).data;
const list = async (query = '') => (await (await api.call('GET', `${WEBHOOKS}${query}`)).json()).data;
beforeEach(async () => {
  for (const { id } of await list()) await api.call('DELETE', `${WEBHOOKS}/${id}`);
});

const LONGEST = `https://hooks.example.org/${'a'.repeat(2048 - 'https://hooks.example.org/'.length)}`;

/** What is wrong with an address, in a creation and in an update. */
const addresses: [string, unknown, string][] = [
  ['of a wrong type', 7, 'address must be a string'],
  ['that is a list', [ADDRESS], 'address must be a string'],
  ['that is empty', '', 'address must be a valid URL'],
  ['that is relative', '/in', 'address must be a valid URL'],
  ['without scheme', 'hooks.example.org/in', 'address must be a valid URL'],
  ['of another scheme', 'ftp://hooks.example.org/in', 'address must be a valid URL'],
  ['without host', 'https://', 'address must be a valid URL'],
  ['with a blank', 'https://hooks.example.org/a b', 'address must be a valid URL'],
  ['with an impossible port', 'https://hooks.example.org:99999/', 'address must be a valid URL'],
  ['of 2049 characters', `${LONGEST}a`, 'address must be a valid URL'],
  ['with NUL', 'https://hooks.example.org/\0', 'address must be valid Unicode text without NUL'],
  ['that is private', 'http://10.1.2.3/in', 'address is not allowed'],
  ['that is loopback', 'http://127.0.0.2/in', 'address is not allowed'],
  ['that is loopback in IPv6', 'http://[::1]/in', 'address is not allowed'],
  ['of the metadata service', 'http://169.254.169.254/', 'address is not allowed'],
  ['whose name is private', 'https://inside.example.org/in', 'address is not allowed'],
];

describe('POST /system/v1/webhooks', () => {
  it.each<[string, unknown, string]>([
    ['no body', undefined, 'address is required'],
    ['no address', {}, 'address is required'],
    ['a null address', { address: null }, 'address is required'],
    ['a list for a body', [], 'Request body must be a JSON object'],
    ...addresses.map(([what, address, message]): [string, unknown, string] => [
      `an address ${what}`,
      { address },
      message,
    ]),
  ])('refuses %s', async (_, body, message) => {
    await expectError(await api.call('POST', WEBHOOKS, body), 400, 'invalid_parameters', [message]);
    expect(await list()).toEqual([]);
  });

  it('refuses an address that is in use, in the same environment only', async () => {
    await create(ADDRESS);
    const refusal = ['address is already in use by another webhook'];
    await expectError(await api.call('POST', WEBHOOKS, { address: ADDRESS }), 400, 'invalid_parameters', refusal);
    const { id: environmentId } = await api.newEnvironment('elsewhere');
    const foreign = await api.newToken({ name: 'foreign', environmentId });
    expect((await api.callAs(foreign, 'POST', WEBHOOKS, { address: ADDRESS })).status).toBe(201);
  });

  it.each([
    ['the longest', LONGEST],
    ['many bytes', `https://hooks.example.org/${'字'.repeat(2000)}`],
    ['credentials', 'https://user:pass@hooks.example.org/in?token=a#b'],
    ['an allowed private host', 'http://127.0.0.1:9000/in'],
    ['a name that does not resolve yet', 'https://later.example.org/in'],
  ])('takes an address: %s', async (_, address) => {
    const webhook = await create(address);
    expect(webhook).toMatchObject({ address, enabled: true });
    expect(await list()).toHaveLength(1);
  });

  it('shows the secret once', async () => {
    const response = await api.call('POST', WEBHOOKS, { address: ADDRESS });
    expect(response.status).toBe(201);
    const { data } = await response.json();
    expect(data).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{6}$/),
      address: ADDRESS,
      enabled: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      signing_secret: expect.stringMatching(/^[a-z0-9]{32}$/),
    });
    const { signing_secret: _, ...shown } = data;
    expect(await (await api.call('GET', `${WEBHOOKS}/${data.id}`)).json()).toEqual({ data: shown });
    expect(await list()).toEqual([shown]);
    const changed = await api.call('PATCH', `${WEBHOOKS}/${data.id}`, { enabled: false });
    expect(await changed.json()).toEqual({ data: { ...shown, enabled: false } });
  });
});

describe('PATCH /system/v1/webhooks/{id}', () => {
  const NEITHER = 'At least one of address or enabled must be provided';
  it.each<[string, unknown, string]>([
    ['no body', undefined, NEITHER],
    ['neither field', { name: 'x' }, NEITHER],
    ['nulls', { address: null, enabled: null }, NEITHER],
    ['a list for a body', [], 'Request body must be a JSON object'],
    ['enabled of a wrong type', { enabled: 'true' }, 'enabled must be a boolean'],
    ['enabled as a number', { enabled: 1 }, 'enabled must be a boolean'],
    ...addresses.map(([what, address, message]): [string, unknown, string] => [
      `an address ${what}`,
      { address },
      message,
    ]),
  ])('refuses %s', async (_, body, message) => {
    const { id } = await create(ADDRESS);
    await expectError(await api.call('PATCH', `${WEBHOOKS}/${id}`, body), 400, 'invalid_parameters', [message]);
    expect(await list()).toMatchObject([{ address: ADDRESS, enabled: true }]);
  });

  it('tells of everything that is wrong at once', async () => {
    const { id } = await create(ADDRESS);
    const response = await api.call('PATCH', `${WEBHOOKS}/${id}`, { enabled: 1, address: 'x' });
    await expectError(response, 400, 'invalid_parameters', [
      'enabled must be a boolean',
      'address must be a valid URL',
    ]);
  });

  it('refuses the address of another webhook and takes its own', async () => {
    await create('https://other.example.org/in');
    const { id } = await create(ADDRESS);
    const other = await api.call('PATCH', `${WEBHOOKS}/${id}`, { address: 'https://other.example.org/in' });
    await expectError(other, 400, 'invalid_parameters', ['address is already in use by another webhook']);
    const own = await api.call('PATCH', `${WEBHOOKS}/${id}`, { address: ADDRESS });
    expect([own.status, (await own.json()).data.address]).toEqual([200, ADDRESS]);
    const renamed = await api.call('PATCH', `${WEBHOOKS}/${id}`, { address: `${ADDRESS}/2`, enabled: false });
    expect((await renamed.json()).data).toMatchObject({ id, address: `${ADDRESS}/2`, enabled: false });
  });
});

describe('webhooks', () => {
  it('are listed newest first, by pages', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await create(`${ADDRESS}/${n}`)).id);
    const idsOf = async (query: string) => (await list(query)).map(({ id }: { id: string }) => id);
    expect(await idsOf('?limit=2')).toEqual(ids.slice(0, 2));
    expect(await idsOf('?limit=2&page=3')).toEqual(ids.slice(4));
    expect(await idsOf('?limit=2&page=4')).toEqual([]);
    const seen: string[] = [];
    for await (const { id } of api.sdk().system.webhooks.list({ limit: 2 })) seen.push(id);
    expect(seen).toEqual(ids);
    await expectError(await api.call('GET', `${WEBHOOKS}?limit=0`), 400, 'invalid_parameters', [
      'limit must be a positive integer',
    ]);
  });

  it('can be deleted; the address can be used again, with a new id and secret', async () => {
    const before = await create(ADDRESS);
    const response = await api.call('DELETE', `${WEBHOOKS}/${before.id}`);
    expect([response.status, await response.text()]).toEqual([204, '']);
    const after = await create(ADDRESS);
    expect(after.id).not.toBe(before.id);
    expect(after.signing_secret).not.toBe(before.signing_secret);
  });

  it.each([
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
    ['GET', '/deliveries/5c0d7a52-7a5e-4a57-9f1d-0a2f6f1f0c11'],
    ['POST', '/deliveries/5c0d7a52-7a5e-4a57-9f1d-0a2f6f1f0c11/redeliver'],
  ])('%s of one that is not there%s is not found', async (method, path) => {
    const { id: environmentId } = await api.newEnvironment(`${method} ${path}`);
    const foreign = await api.newToken({ name: 'foreign', environmentId });
    const { id } = await create(ADDRESS);
    const body = method === 'PATCH' ? { enabled: 7 } : undefined;
    const responses = [
      await api.call(method, `${WEBHOOKS}/zzzzzz${path}`, body),
      await api.call(method, `${WEBHOOKS}/${'z'.repeat(5000)}${path}`, body),
      await api.callAs(foreign, method, `${WEBHOOKS}/${id}${path}`, body),
    ];
    for (const response of responses) await expectError(response, 404, 'not_found', [NOT_FOUND]);
  });

  it.each(['not-a-uuid', '5c0d7a52-7a5e-4a57-9f1d-0a2f6f1f0c11'])('have no delivery %s', async (deliveryId) => {
    const { id } = await create(ADDRESS);
    const path = `${WEBHOOKS}/${id}/deliveries/${deliveryId}`;
    await expectError(await api.call('GET', path), 404, 'not_found', [NOT_FOUND]);
    await expectError(await api.call('POST', `${path}/redeliver`), 404, 'not_found', [NOT_FOUND]);
  });

  it('need the permissions of the system', async () => {
    const { id } = await create(ADDRESS);
    const status = async (permissions: string[], method: string, path = '', body?: unknown) => {
      const token = await api.newToken({ name: permissions.join(), permissions });
      return (await api.callAs(token, method, `${WEBHOOKS}${path}`, body)).status;
    };
    expect(await status(['system:read'], 'GET')).toBe(200);
    expect(await status(['system:read'], 'GET', `/${id}`)).toBe(200);
    expect(await status(['system:read'], 'POST', '', { address: ADDRESS })).toBe(403);
    expect(await status(['system:write'], 'GET')).toBe(403);
    expect(await status(['system:write'], 'PATCH', `/${id}`, { enabled: true })).toBe(200);
    expect(await status(['video:read', 'video:write'], 'GET')).toBe(403);
    expect(await status(['video:read', 'video:write'], 'DELETE', `/${id}`)).toBe(403);
    expect(await status(['system:write'], 'DELETE', `/${id}`)).toBe(204);
  });
});

describe('GET /system/v1/events', () => {
  const EVENTS = '/system/v1/events';
  const events = async (query = '') => (await (await api.call('GET', `${EVENTS}${query}`)).json()).data;

  it('lists newest first, by type and object, by page and cursor', async () => {
    const inputs = 'https://media.example.org/walk.mp4';
    const first = (await (await api.call('POST', '/video/v1/assets', { inputs })).json()).data.id;
    const second = (await (await api.call('POST', '/video/v1/assets', { inputs })).json()).data.id;
    await api.call('POST', `/video/v1/assets/${first}/playback-ids`, { policy: 'public' });
    await api.call('DELETE', `/video/v1/assets/${first}`);
    const short = (found: { type: string; object: { id: string } }[]) =>
      found.map(({ type, object }) => [type.replace('video.asset.', ''), object.id]);
    const all = [
      ['deleted', first],
      ['updated', first],
      ['created', second],
      ['created', first],
    ];
    expect(short(await events())).toEqual(all);
    expect(short(await events('?type=video.asset.created'))).toEqual([all[2], all[3]]);
    expect(short(await events(`?object_type=asset&object_id=${first}`))).toEqual([all[0], all[1], all[3]]);
    expect(await events('?type=video.upload.created')).toEqual([]);
    expect(await events('?object_type=upload')).toEqual([]);
    expect(short(await events('?limit=3&page=2'))).toEqual([all[3]]);
    const page = await (await api.call('GET', `${EVENTS}?limit=2`)).json();
    const next = await (await api.call('GET', `${EVENTS}?limit=2&cursor=${page.next_cursor}`)).json();
    expect(short([...page.data, ...next.data])).toEqual(all);
    expect(next.next_cursor).toBeNull();

    const [deleted] = page.data;
    expect(deleted).toEqual({
      type: 'video.asset.deleted',
      request_id: null,
      object: { type: 'asset', id: first },
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      environment: { name: 'Default', id: expect.stringMatching(/^[a-z0-9]{6}$/) },
      data: expect.objectContaining({ id: first, status: 'preparing', created_at: expect.any(Number) }),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      attempts: [],
      accessor_source: null,
      accessor: null,
    });
    expect(await (await api.call('GET', `${EVENTS}/${deleted.id}`)).json()).toEqual({ data: deleted });
    const { id: environmentId } = await api.newEnvironment('without events');
    const foreign = await api.newToken({ name: 'foreign', environmentId });
    expect(await (await api.callAs(foreign, 'GET', EVENTS)).json()).toEqual({ data: [], next_cursor: null });
    for (const response of [
      await api.callAs(foreign, 'GET', `${EVENTS}/${deleted.id}`),
      await api.call('GET', `${EVENTS}/not-a-uuid`),
      await api.call('GET', `${EVENTS}/5c0d7a52-7a5e-4a57-9f1d-0a2f6f1f0c11`),
    ])
      await expectError(response, 404, 'not_found', [NOT_FOUND]);
  });

  it.each([
    ['?limit=0', 'limit must be a positive integer'],
    ['?page=x', 'page must be a positive integer'],
    ['?cursor=x', 'cursor is invalid'],
  ])('refuses %s', async (query, message) => {
    await expectError(await api.call('GET', `${EVENTS}${query}`), 400, 'invalid_parameters', [message]);
  });
});

describe('webhooks with deliveries', () => {
  it('list their deliveries newest first, by page and cursor', async () => {
    const { id } = await create(ADDRESS);
    const inputs = 'https://media.example.org/walk.mp4';
    const assets: string[] = [];
    for (let n = 0; n < 5; n++)
      assets.unshift((await (await api.call('POST', '/video/v1/assets', { inputs })).json()).data.id);
    const deliveries = async (query = '') => (await api.call('GET', `${WEBHOOKS}/${id}/deliveries${query}`)).json();
    const objectsOf = (page: { data: { event: { object: { id: string } } }[] }) =>
      page.data.map(({ event }) => event.object.id);
    const all = await deliveries();
    expect([objectsOf(all), all.next_cursor]).toEqual([assets, null]);
    expect(all.data[0]).toMatchObject({
      webhook_id: id,
      event: { type: 'video.asset.created', object: { type: 'asset' } },
      state: 'pending',
      next_attempt_at: expect.stringMatching(/\.\d{6}Z$/),
      attempts: [],
    });
    expect(await (await api.call('GET', `${WEBHOOKS}/${id}/deliveries/${all.data[0].id}`)).json()).toEqual({
      data: all.data[0],
    });
    expect(objectsOf(await deliveries('?limit=2&page=3'))).toEqual(assets.slice(4));
    expect(await deliveries('?limit=2&page=4')).toEqual({ data: [], next_cursor: null });
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof deliveries>> = await deliveries(`?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...objectsOf(page));
      cursor = page.next_cursor;
      // Written meanwhile: pages that follow a cursor stay as they are.
      if (seen.length === 2) await api.call('POST', '/video/v1/assets', { inputs });
    }
    expect(seen).toEqual(assets);
    for (const [query, message] of [
      ['?limit=0', 'limit must be a positive integer'],
      ['?page=0', 'page must be a positive integer'],
      ['?cursor=!', 'cursor is invalid'],
    ] as const) {
      const response = await api.call('GET', `${WEBHOOKS}/${id}/deliveries${query}`);
      await expectError(response, 400, 'invalid_parameters', [message]);
    }
  });
});
