import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const create = async (fields: object = {}) =>
  (
    await (
      await api.call('POST', '/video/v1/assets', { inputs: 'https://media.example.org/walk.mp4', ...fields })
    ).json()
  ).data;
const pathOf = (id: string) => `/video/v1/assets/${id}/master-access`;
const change = (id: string, columns: object) =>
  api.database.queryable.updateTable('asset').set(columns).where('id', '=', id).execute();

describe('PUT /video/v1/assets/{id}/master-access refuses', () => {
  it.each<[string, unknown, string]>([
    ['no body', undefined, 'master_access is required'],
    ['a body of a wrong type', [], 'Request body must be a JSON object'],
    ['nothing', {}, 'master_access is required'],
    ['null', { master_access: null }, 'master_access is required'],
    ['an unknown value', { master_access: 'forever' }, 'master_access must be one of: none, temporary'],
    ['a value of a wrong type', { master_access: true }, 'master_access must be a string'],
  ])('%s', async (_, body, message) => {
    const { id } = await create();
    await expectError(await api.call('PUT', pathOf(id), body), 400, 'invalid_parameters', [message]);
  });

  it.each(['none', 'temporary'])('%s for an asset that is errored', async (access) => {
    const { id } = await create();
    await change(id, { status: 'errored' });
    const response = await api.call('PUT', pathOf(id), { master_access: access });
    await expectError(response, 400, 'invalid_parameters', ['Asset is in an errored state']);
  });

  it('what is not there, whatever the body says', async () => {
    const { id } = await create();
    const foreign = await api.newToken({ name: 'x', environmentId: (await api.newEnvironment('Other')).id });
    for (const body of [{ master_access: 'temporary' }, { master_access: 'x' }]) {
      await expectError(await api.call('PUT', pathOf('x'), body), 404, 'not_found', [NOT_FOUND]);
      await expectError(await api.callAs(foreign, 'PUT', pathOf(id), body), 404, 'not_found', [NOT_FOUND]);
    }
  });
});

describe('PUT /video/v1/assets/{id}/master-access', () => {
  it('is remembered for an asset that is not ready', async () => {
    const { id } = await create();
    const given = (await (await api.call('PUT', pathOf(id), { master_access: 'temporary' })).json()).data;
    expect(given).toMatchObject({ id, master_access: 'temporary', master: { status: 'preparing' } });
    const taken = (await (await api.call('PUT', pathOf(id), { master_access: 'none' })).json()).data;
    expect(taken.master_access).toBe('none');
    expect(taken.master).toBeUndefined();
  });

  it('orders one master of a ready asset, however often it is asked for', async () => {
    const { id } = await create();
    await api.makeReady(id, 10);
    for (let times = 0; times < 3; times += 1) {
      const response = await api.call('PUT', pathOf(id), { master_access: 'temporary' });
      expect(response.status).toBe(200);
      expect((await response.json()).data).toMatchObject({
        master_access: 'temporary',
        master: { status: 'preparing' },
      });
    }
    const jobs = await api.database.queryable
      .selectFrom('job')
      .select('payload')
      .where('queue', '=', 'master')
      .where('state', '=', 'queued')
      .execute();
    expect(jobs.filter(({ payload }) => (payload as { assetId?: string }).assetId === id)).toHaveLength(1);
  });

  it('is set by the official SDK', async () => {
    const { id } = await create();
    await api.makeReady(id, 10);
    const asset = await api.sdk().video.assets.updateMasterAccess(id, { master_access: 'temporary' });
    expect(asset.master).toEqual({ status: 'preparing' });
  });

  it('shows nothing of a master that was asked for with an asset that failed', async () => {
    const { id, master } = await create({ master_access: 'temporary' });
    expect(master).toEqual({ status: 'preparing' });
    await change(id, { status: 'errored' });
    const asset = (await (await api.call('GET', `/video/v1/assets/${id}`)).json()).data;
    expect(asset.master).toBeUndefined();
  });
});
