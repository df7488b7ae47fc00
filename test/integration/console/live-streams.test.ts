import { afterAll, beforeAll, expect, it } from 'vitest';
import { LiveStates } from '#kinora/domain/live/live-states.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { type ConsoleSession, signIn } from '../../support/wire/console.js';

let api: Api;
let app: ConsoleSession;
let states: LiveStates;
const ids: string[] = [];
beforeAll(async () => {
  api = await startApi();
  app = await signIn(api);
  states = new LiveStates(api.context);
  for (const title of ['Harbor', 'harbour 100 %', 'Lighthouse']) {
    const body = { playback_policies: ['public'], meta: { title } };
    ids.push((await (await api.call('POST', '/video/v1/live-streams', body)).json()).data.id);
  }
});
afterAll(() => api?.stop());

const list = async (query: string) => {
  const response = await app.call('GET', `/console/api/live-streams?${query}`);
  const body = await response.json();
  if (response.status !== 200) return body.error.messages;
  return { titles: body.data.map(({ meta }: { meta: { title: string } }) => meta.title), total: body.total_row_count };
};
const details = async (id: string) => (await app.call('GET', `/console/api/live-streams/${id}`)).json();

it('lists live streams newest first, with pages, a total, filters and a search', async () => {
  expect(await list('limit=2')).toEqual({ titles: ['Lighthouse', 'harbour 100 %'], total: 3 });
  expect(await list('limit=2&page=2')).toEqual({ titles: ['Harbor'], total: 3 });
  expect(await list('search=HARB')).toEqual({ titles: ['harbour 100 %', 'Harbor'], total: 2 });
  expect(await list(`search=${encodeURIComponent('0 %')}`)).toEqual({ titles: ['harbour 100 %'], total: 1 });
  expect(await list(`search=${ids[0]}`)).toEqual({ titles: ['Harbor'], total: 1 });
  const { data } = await details(ids[2]!);
  expect(await list(`search=${data.playback_ids[0].id}`)).toEqual({ titles: ['Lighthouse'], total: 1 });
  expect(await list('status=active')).toEqual({ titles: [], total: 0 });
  expect(await list('status=live&page=0')).toEqual([
    'status must be one of: active, idle, disabled',
    'page must be a positive integer',
  ]);
});

it('adds to the API whether an encoder is connected, where it sends, and what was wrong', async () => {
  const [id] = ids;
  const { connected, recording, ingest_urls: urls, ...wire } = (await details(id!)).data;
  expect([connected, recording]).toEqual([false, false]);
  expect(urls).toEqual(['rtmp://127.0.0.1:1935/app']);
  expect(wire).toEqual((await (await api.call('GET', `/video/v1/live-streams/${id}`)).json()).data);
  const warnings = async () => (await app.call('GET', `/console/api/live-streams/${id}/warnings`)).json();
  expect(await warnings()).toEqual({ data: [], asset_id: null });

  await states.connected(id!, 'rtmp');
  const { assetId } = (await states.recording(id!, { startedAt: new Date('2026-01-01T10:00:00Z') }))!;
  await states.warn(assetId, { type: 'key_frame_interval', message: 'Set the key frame interval to 2 s.' });
  await states.warn(assetId, { type: 'unsupported_input', message: 'Set the profile to main.' });
  expect((await details(id!)).data).toMatchObject({ connected: true, recording: true, active_asset_id: assetId });
  const told = await warnings();
  expect(told.asset_id).toBe(assetId);
  expect(told.data.map(({ message }: { message: string }) => message)).toEqual([
    'Set the key frame interval to 2 s.',
    'Set the profile to main.',
  ]);
  const [row] = (await (await app.call('GET', '/console/api/live-streams?search=Harbor')).json()).data;
  expect(row.latest_recording).toEqual({ id: assetId, created_at: expect.stringMatching(/^\d{4}-.*Z$/) });
});

it('is for those who may read videos of the environment, with a token too', async () => {
  const other = await api.newToken({
    name: 'other',
    environmentId: (await api.newEnvironment('Other')).id,
    permissions: ['video:read'],
  });
  const mine = await api.call('GET', `/console/api/live-streams/${ids[0]}`);
  expect(mine.status).toBe(200);
  for (const path of ['', '/warnings']) {
    const response = await api.callAs(other, 'GET', `/console/api/live-streams/${ids[0]}${path}`);
    expect(response.status).toBe(404);
  }
  const writer = await api.newToken({ name: 'no videos', permissions: ['system:read'] });
  for (const path of ['', `/${ids[0]}`, `/${ids[0]}/warnings`]) {
    const response = await api.callAs(writer, 'GET', `/console/api/live-streams${path}`);
    expect(response.status).toBe(403);
  }
});
