import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const create = async (fields: object = {}) => {
  const inputs = [{ url: 'https://user:secret@media.example.org/walk.mp4', language_code: 'en' }];
  const response = await api.call('POST', '/video/v1/assets', { inputs, ...fields });
  return (await response.json()).data;
};
const jobsOf = async (assetId: string) => {
  const jobs = await api.database.queryable
    .selectFrom('job')
    .selectAll()
    .where('key', '=', assetId)
    .orderBy('seq')
    .execute();
  return jobs.map(({ queue, payload, state, run_at }) => ({ queue, payload, state, run_at }));
};

describe('creation', () => {
  it('queues the ingest of the asset', async () => {
    const { id } = await create();
    expect(await jobsOf(id)).toEqual([
      { queue: 'ingest', payload: { assetId: id }, state: 'queued', run_at: expect.any(Date) },
    ]);
  });

  it('of a test asset queues its end after a day', async () => {
    const { id, created_at: createdAt } = await create({ test: true });
    const [, end] = await jobsOf(id);
    expect(end).toMatchObject({ queue: 'delete-test-asset', payload: { assetId: id }, state: 'queued' });
    expect(Math.floor(end!.run_at.getTime() / 1000)).toBe(Number(createdAt) + 24 * 3600);
  });

  it('leaves nothing behind when one part of it fails', async () => {
    const count = async () => (await api.database.queryable.selectFrom('asset').select('id').execute()).length;
    const before = await count();
    await api.database.queryable.schema.alterTable('playback_id').renameTo('away').execute();
    const response = await api.call('POST', '/video/v1/assets', {
      inputs: 'https://media.example.org/a.mp4',
      playback_policies: 'public',
    });
    await expectError(response, 500, 'internal_error', ['Internal server error']);
    await api.database.queryable.schema.alterTable('away').renameTo('playback_id').execute();
    expect(await count()).toBe(before);
    const line = api.logger.lines.find(({ message }) => message === 'request failed');
    expect(line?.fields).toMatchObject({ request_id: response.headers.get('x-request-id') });
  });
});

describe('input info', () => {
  it('shows the settings as accepted, the url without credentials, and what probing found', async () => {
    const { id } = await create({ playback_policy: 'public' });
    const path = `/video/v1/assets/${id}/input-info`;
    const settings = { url: 'https://media.example.org/walk.mp4', language_code: 'en' };
    expect(await (await api.call('GET', path)).json()).toEqual({ data: [{ settings }] });
    const file = { container_format: 'mov', tracks: [] };
    await api.database.queryable
      .updateTable('asset_input')
      .set({ file: JSON.stringify(file) })
      .where('asset_id', '=', id)
      .execute();
    expect(await (await api.call('GET', path)).json()).toEqual({ data: [{ settings, file }] });
    const row = await api.database.queryable.selectFrom('asset_input').selectAll().where('asset_id', '=', id).execute();
    expect(row[0]!.settings.url).toBe('https://user:secret@media.example.org/walk.mp4');
  });
});

describe('an asset that is ready', () => {
  it('has its properties and its tracks in order', async () => {
    const { id } = await create();
    const track = { asset_id: id, status: 'ready', name: null, language_code: null, duration_seconds: null };
    const none = {
      max_width: null,
      max_height: null,
      max_frame_rate: null,
      max_channels: null,
      max_channel_layout: null,
    };
    await api.database.queryable
      .insertInto('track')
      .values([
        { ...track, ...none, id: 't4', type: 'text', name: 'French', language_code: 'fr' },
        { ...track, ...none, id: 't3', type: 'audio', name: 'German', language_code: 'de', max_channels: 1 },
        {
          ...track,
          ...none,
          id: 't2',
          type: 'audio',
          is_primary: true,
          name: 'Default',
          language_code: 'und',
          duration_seconds: 10.5,
          max_channels: 2,
          max_channel_layout: 'stereo',
        },
        {
          ...track,
          ...none,
          id: 't1',
          type: 'video',
          duration_seconds: 10.25,
          max_width: 1920,
          max_height: 1080,
          max_frame_rate: 29.97,
        },
      ])
      .execute();
    expect((await (await api.call('GET', `/video/v1/assets/${id}`)).json()).data).not.toHaveProperty('tracks');
    await api.database.queryable
      .updateTable('asset')
      .set({
        aspect_ratio: '16:9',
        resolution_tier: '1080p',
        max_stored_resolution: 'HD',
        max_stored_frame_rate: 29.97,
      })
      .where('id', '=', id)
      .execute();
    await api.makeReady(id, 10.5);
    const { data } = await (await api.call('GET', `/video/v1/assets/${id}`)).json();
    expect(data).toMatchObject({
      status: 'ready',
      progress: { state: 'completed', progress: 100 },
      duration: 10.5,
      aspect_ratio: '16:9',
      resolution_tier: '1080p',
      max_stored_resolution: 'HD',
      max_stored_frame_rate: 29.97,
    });
    expect(data.tracks).toEqual([
      { id: 't1', type: 'video', duration: 10.25, max_width: 1920, max_height: 1080, max_frame_rate: 29.97 },
      {
        ...{ id: 't2', type: 'audio', status: 'ready', duration: 10.5, max_channels: 2, max_channel_layout: 'stereo' },
        ...{ primary: true, name: 'Default', language_code: 'und' },
      },
      { id: 't3', type: 'audio', status: 'ready', max_channels: 1, name: 'German', language_code: 'de' },
      { id: 't4', type: 'text', status: 'ready', name: 'French', language_code: 'fr' },
    ]);
  });
});

it('an asset that failed tells why', async () => {
  const { id } = await create();
  const error = { type: 'invalid_input', messages: ['The input file is empty.'] };
  await api.database.queryable
    .updateTable('asset')
    .set({ status: 'errored', progress_state: 'errored', progress: -1, error: JSON.stringify(error) })
    .where('id', '=', id)
    .execute();
  const { data } = await (await api.call('GET', `/video/v1/assets/${id}`)).json();
  expect(data).toMatchObject({ status: 'errored', progress: { state: 'errored', progress: -1 }, errors: error });
  expect(data).not.toHaveProperty('tracks');
});

describe('deletion', () => {
  it('removes the asset at once, stops its ingest and queues the removal of its files', async () => {
    const { id, playback_ids: playbackIds } = await create({ playback_policies: ['public', 'signed'] });
    const path = `/video/v1/assets/${id}`;
    const response = await api.call('DELETE', path);
    expect([response.status, await response.text()]).toEqual([204, '']);
    const removed = playbackIds.map((playbackId: { id: string }) => playbackId.id);
    expect(api.forgotten).toContainEqual({ assetId: id, playbackIds: removed });
    expect(await jobsOf(id)).toMatchObject([
      { queue: 'ingest', state: 'cancelled' },
      { queue: 'purge', payload: { assetId: id }, state: 'queued' },
    ]);
    for (const table of ['asset_input', 'asset_media', 'playback_id', 'track'] as const) {
      expect(
        await api.database.queryable.selectFrom(table).select('asset_id').where('asset_id', '=', id).execute(),
      ).toEqual([]);
    }
    for (const [method, below] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/input-info'],
      ['POST', '/playback-ids'],
      ['GET', `/playback-ids/${removed[0]}`],
      ['DELETE', `/playback-ids/${removed[0]}`],
    ] as const) {
      await expectError(await api.call(method, `${path}${below}`), 404, 'not_found', [NOT_FOUND]);
    }
    await expectError(await api.call('GET', `/video/v1/playback-ids/${removed[0]}`), 404, 'not_found', [NOT_FOUND]);
  });

  it('asked for twice at once succeeds once', async () => {
    const { id } = await create();
    const responses = await Promise.all([1, 2, 3].map(() => api.call('DELETE', `/video/v1/assets/${id}`)));
    expect(responses.map(({ status }) => status).sort()).toEqual([204, 404, 404]);
  });
});
