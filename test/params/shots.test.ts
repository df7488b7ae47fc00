import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { until } from '../support/servers/server-process.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
let id: string;
let path: string;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());
beforeEach(async () => {
  const body = { inputs: 'https://media.example.org/walk.mp4', generate_shots: true };
  const response = await (await api.call('POST', '/video/v1/assets', body)).json();
  expect(response.data.generate_shots).toBe(true);
  id = response.data.id;
  path = `/video/v1/assets/${id}/shots`;
});

const db = () => api.database.queryable;
const setShots = (columns: object) => db().updateTable('shots').set(columns).where('asset_id', '=', id).execute();
const setTier = (tier: string) =>
  db().updateTable('asset').set({ resolution_tier: tier }).where('id', '=', id).execute();
const asset = async () => (await (await api.call('GET', `/video/v1/assets/${id}`)).json()).data;
const events = async () => {
  const rows = await db()
    .selectFrom('event')
    .select(['type', 'object_type', 'body'])
    .where('object_id', '=', id)
    .orderBy('seq')
    .execute();
  return rows
    .filter(({ type }) => type.startsWith('video.asset.shots.'))
    .map(({ type, object_type, body }) => [
      type.slice('video.asset.shots.'.length),
      object_type,
      JSON.parse(body).data.status,
    ]);
};
const ALREADY = 'shots generation has already been requested';

describe('POST /video/v1/assets/{id}/shots', () => {
  it('is refused before the asset is ready', async () => {
    await expectError(await api.call('POST', path), 400, 'invalid_parameters', ['Asset is not ready']);
    await db().updateTable('asset').set({ status: 'errored' }).where('id', '=', id).execute();
    await expectError(await api.call('POST', path, {}), 400, 'invalid_parameters', ['Asset is not ready']);
  });

  it.each([undefined, {}])('with body %o begins the search, once', async (body) => {
    await api.makeReady(id, 10);
    const response = await api.call('POST', path, body);
    expect(response.status).toBe(201);
    expect((await response.json()).data).toEqual({ status: 'pending', created_at: expect.stringMatching(/^\d+$/) });
    await expectError(await api.call('POST', path), 400, 'invalid_parameters', [ALREADY]);
    await setShots({ status: 'completed', start_times: '[0]' });
    await expectError(await api.call('POST', path), 400, 'invalid_parameters', [ALREADY]);
    expect(await events()).toEqual([['created', 'asset', 'pending']]);
  });

  it('tells of it with what the asset is known by, at every event', async () => {
    const known = { passthrough: 'order-81', meta: { title: 'Harbor walk', external_id: 'cms-204' } };
    await api.call('PATCH', `/video/v1/assets/${id}`, known);
    await api.makeReady(id, 10);
    await api.call('POST', path);
    await api.call('DELETE', path);
    await setTier('audio-only');
    await api.call('POST', path);
    const { data } = await (await api.call('GET', `/system/v1/events?object_id=${id}&limit=4`)).json();
    const told = data.map(({ type, data: shots }: { type: string; data: object }) => [type, shots]);
    const shots = (status: string) => ({ status, created_at: expect.any(String), ...known });
    expect(told).toEqual([
      ['video.asset.shots.skipped', shots('skipped')],
      ['video.asset.shots.created', shots('pending')],
      ['video.asset.shots.deleted', shots('deleted')],
      ['video.asset.shots.created', shots('pending')],
    ]);
  });

  it('skips audio alone', async () => {
    await api.makeReady(id, 10);
    await setTier('audio-only');
    const response = await api.call('POST', path);
    expect(response.status).toBe(201);
    expect((await response.json()).data.status).toBe('skipped');
    expect(await events()).toEqual([
      ['created', 'asset', 'pending'],
      ['skipped', 'asset', 'skipped'],
    ]);
    expect((await api.call('POST', path)).status).toBe(201);
  });

  it.each(['errored', 'deleted'])('begins again after they were %s', async (status) => {
    await api.makeReady(id, 10);
    await api.call('POST', path);
    await setShots({ status });
    const response = await api.call('POST', path);
    expect(response.status).toBe(201);
    expect((await response.json()).data.status).toBe('pending');
  });
});

describe('GET and DELETE /video/v1/assets/{id}/shots', () => {
  it('know nothing of what was never asked for', async () => {
    await expectError(await api.call('GET', path), 404, 'not_found', [NOT_FOUND]);
    await expectError(await api.call('DELETE', path), 404, 'not_found', [NOT_FOUND]);
    for (const method of ['POST', 'GET', 'DELETE'])
      await expectError(await api.call(method, '/video/v1/assets/x/shots'), 404, 'not_found', [NOT_FOUND]);
  });

  it('work with the official SDK', async () => {
    await api.makeReady(id, 10);
    const { assets } = api.sdk().video;
    expect((await assets.generateShots(id)).status).toBe('pending');
    expect((await assets.retrieveShots(id)).status).toBe('pending');
    await assets.deleteShots(id);
    expect((await assets.retrieveShots(id)).status).toBe('deleted');
  });

  it('show what failed', async () => {
    await api.makeReady(id, 10);
    await api.call('POST', path);
    await setShots({ status: 'errored', error: JSON.stringify({ type: 'internal_error', messages: ['x'] }) });
    const shown = (await (await api.call('GET', path)).json()).data;
    expect(shown).toMatchObject({ status: 'errored', errors: { type: 'internal_error', messages: ['x'] } });
    expect((await asset()).shots).toEqual(shown);
  });

  it('renew the signed address each time', async () => {
    await api.makeReady(id, 10);
    await api.call('POST', path);
    await setShots({ status: 'completed', start_times: '[0]' });
    const urlNow = async () => new URL((await (await api.call('GET', path)).json()).data.shots_manifest_url);
    const first = await urlNow();
    expect(first.pathname).toBe(`/artifacts/shots/${id}/manifest.json`);
    const lifetime = Number(first.searchParams.get('expires')) - Date.now() / 1000;
    expect(Math.abs(lifetime - 86_400)).toBeLessThan(60);
    await until('another second', async () => (await urlNow()).href !== first.href);
  });

  it('remove them for good, and stop the search', async () => {
    await api.makeReady(id, 10);
    await api.call('POST', path);
    expect((await api.call('DELETE', path)).status).toBe(204);
    expect((await (await api.call('GET', path)).json()).data).toEqual({
      status: 'deleted',
      created_at: expect.stringMatching(/^\d+$/),
    });
    await expectError(await api.call('DELETE', path), 404, 'not_found', [NOT_FOUND]);
    expect(await events()).toEqual([
      ['created', 'asset', 'pending'],
      ['deleted', 'asset', 'deleted'],
    ]);
    const jobs = await db().selectFrom('job').select(['payload', 'state']).where('queue', '=', 'shots').execute();
    const states = jobs
      .filter(({ payload }) => (payload as { assetId?: string }).assetId === id)
      .map(({ state }) => state);
    expect(states).toEqual(['cancelled']);
  });
});
