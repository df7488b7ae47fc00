import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#kinora/lib/clock.js';
import { fixture } from '../../support/media/fixtures.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { until } from '../../support/servers/server-process.js';
import { api as ask, settled } from '../../support/wire/create-asset.js';
import { expectError } from '../../support/wire/expect-error.js';
import { filesOf, openRequest, sendBytes, sendChunk, storedIn, type WireUpload } from '../../support/wire/uploading.js';

const file = randomBytes(200_000);

describe('the states of an upload and what is told of them', () => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api?.stop());

  const create = async (body: object = {}): Promise<WireUpload> =>
    (await (await api.call('POST', '/video/v1/uploads', body)).json()).data;
  const read = async (id: string): Promise<WireUpload> =>
    (await (await api.call('GET', `/video/v1/uploads/${id}`)).json()).data;
  const cancel = (id: string) => api.call('PUT', `/video/v1/uploads/${id}/cancel`);
  /** Type and data of every event about the objects, in order. */
  const eventsOf = async (...ids: string[]) => {
    const rows = await api.database.queryable
      .selectFrom('event')
      .selectAll()
      .where('object_id', 'in', ids)
      .orderBy('seq')
      .execute();
    return rows.map(({ body }) => JSON.parse(body) as { type: string; object: object; data: Record<string, unknown> });
  };
  const liveJobs = async (queue: string, key: string) => {
    const jobs = api.database.queryable
      .selectFrom('job')
      .select('id')
      .where('queue', '=', queue)
      .where('key', '=', key);
    return (await jobs.where('state', '=', 'queued').execute()).length;
  };

  it('goes from waiting to asset_created', async () => {
    const upload = await create({ new_asset_settings: { playback_policy: 'public', input: [{ name: 'Original' }] } });
    expect(await liveJobs('time-out-upload', upload.id)).toBe(1);
    expect((await sendBytes(upload.url!, file)).status).toBe(200);
    const created = await read(upload.id);
    const { url: _, ...rest } = upload;
    expect(created).toEqual({ ...rest, status: 'asset_created', asset_id: expect.stringMatching(/^[A-Za-z0-9]{40}$/) });
    const events = await eventsOf(upload.id, created.asset_id!);
    expect(events.map(({ type }) => type)).toEqual([
      'video.upload.created',
      'video.asset.created',
      'video.upload.asset_created',
    ]);
    expect(events[0]!.object).toEqual({ type: 'upload', id: upload.id });
    const shown = { new_asset_settings: { playback_policies: ['public'], inputs: [{ name: 'Original' }] } };
    expect(events[0]!.data).toEqual({ ...rest, ...shown });
    expect(events[1]!.data).toMatchObject({ id: created.asset_id, upload_id: upload.id });
    expect(events[2]!.data).toEqual({ ...created, ...shown });
    expect(await liveJobs('time-out-upload', upload.id)).toBe(0);
    expect(await liveJobs('ingest', created.asset_id!)).toBe(1);
    await expectError(await cancel(upload.id), 403, 'forbidden', ['cancellation no longer possible']);
    expect(await read(upload.id)).toEqual(created);
  });

  it('goes from waiting to cancelled, with its bytes removed and its address closed', async () => {
    const upload = await create();
    await sendChunk(upload.url!, file, 0, 1000);
    const { url, ...rest } = upload;
    const response = await cancel(upload.id);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { ...rest, status: 'cancelled' } });
    expect(await read(upload.id)).toEqual({ ...rest, status: 'cancelled' });
    expect((await sendChunk(url!, file, 1000, 2000)).status).toBe(410);
    await expectError(await cancel(upload.id), 403, 'forbidden', ['cancellation no longer possible']);
    const events = await eventsOf(upload.id);
    expect(events.map(({ type }) => type)).toEqual(['video.upload.created', 'video.upload.cancelled']);
    expect(events[1]!.data).toEqual({ ...rest, status: 'cancelled' });
    expect(await liveJobs('time-out-upload', upload.id)).toBe(0);
  });

  it('breaks off the request that sends the file of a cancelled upload', async () => {
    const upload = await create();
    const sending = openRequest(upload.url!, { 'content-length': file.length });
    await sending.send(file.subarray(0, 1000));
    const row = api.database.queryable.selectFrom('upload').select('target_asset_id').where('id', '=', upload.id);
    const { target_asset_id: assetId } = await row.executeTakeFirstOrThrow();
    await until('the request has begun', () => filesOf(api.blobDir, assetId).length > 0);
    expect((await cancel(upload.id)).status).toBe(200);
    // A request whose body is not read yet can still be answered.
    const outcome = await sending.response().then(
      ({ status }) => status,
      () => 'broken off',
    );
    expect(['broken off', 410]).toContain(outcome);
    expect(filesOf(api.blobDir, assetId)).toEqual([]);
    expect((await sendBytes(upload.url!, file)).status).toBe(410);
    expect(await liveJobs('purge', assetId)).toBe(1);
  });

  it('goes from waiting to errored', async () => {
    const upload = await create();
    await api.database.queryable
      .updateTable('upload')
      .set({ new_asset_settings: JSON.stringify({ directives: [{ id: 'drv_gone' }] }) })
      .where('id', '=', upload.id)
      .execute();
    expect((await sendBytes(upload.url!, file)).status).toBe(410);
    const errored = await read(upload.id);
    expect(errored).toMatchObject({ status: 'errored', error: { type: 'invalid_parameters' } });
    const events = await eventsOf(upload.id);
    expect(events.map(({ type }) => type)).toEqual(['video.upload.created', 'video.upload.errored']);
    expect(events[1]!.data).toEqual(errored);
    await expectError(await cancel(upload.id), 403, 'forbidden', ['cancellation no longer possible']);
  });

  it('is asset_created once, whoever comes first at the end', async () => {
    const upload = await create();
    await sendChunk(upload.url!, file, 0, 100_000);
    const responses = await Promise.all([
      sendChunk(upload.url!, file, 100_000, file.length),
      cancel(upload.id),
      sendChunk(upload.url!, file, 100_000, file.length),
    ]);
    const { status } = await read(upload.id);
    expect(responses[1]!.status).toBe(status === 'cancelled' ? 200 : 403);
    expect(['cancelled', 'asset_created']).toContain(status);
    const types = (await eventsOf(upload.id)).map(({ type }) => type);
    expect(types).toEqual(['video.upload.created', `video.upload.${status}`]);
  });

  it.each([
    ['the upload', { test: true }],
    ['the settings', { new_asset_settings: { test: true } }],
  ])('makes a test asset when %s says so', async (_name, body) => {
    const upload = await create(body);
    await sendBytes(upload.url!, file);
    const { asset_id: assetId } = await read(upload.id);
    const asset = await (await api.call('GET', `/video/v1/assets/${assetId}`)).json();
    expect(asset.data).toMatchObject({ test: true });
    expect(await liveJobs('delete-test-asset', assetId!)).toBe(1);
  });
});

describe('on a running server', () => {
  let server: Booted;
  const clock = {
    aheadMs: 0,
    now: () => new Date(systemClock.now().getTime() + clock.aheadMs),
    monotonicMs: () => systemClock.monotonicMs(),
  };
  beforeAll(async () => {
    server = await boot({ clock });
  });
  afterAll(() => server?.stop());

  const create = async (body: object = {}): Promise<WireUpload> =>
    ((await (await ask(server, 'POST', '/video/v1/uploads', body)).json()) as { data: WireUpload }).data;
  const read = async (id: string): Promise<WireUpload> =>
    ((await (await ask(server, 'GET', `/video/v1/uploads/${id}`)).json()) as { data: WireUpload }).data;
  // Without the records of what is synced of them.
  const partials = () => filesOf(join(server.dataDir, 'blobs'), '~source').filter((path) => !path.endsWith('+synced'));

  it('an uploaded film becomes ready and plays', async () => {
    const film = await readFile(await fixture('h264-aac.mp4'));
    const upload = await create({
      new_asset_settings: { playback_policies: ['public'], inputs: [{ name: 'Original' }] },
    });
    const half = Math.floor(film.length / 2);
    expect((await sendChunk(upload.url!, film, 0, half)).status).toBe(308);
    expect((await sendChunk(upload.url!, film, half, film.length)).status).toBe(200);
    const { asset_id: assetId } = await read(upload.id);
    const asset = await settled(server, assetId!);
    expect(asset).toMatchObject({ status: 'ready', ingest_type: 'on_demand_direct_upload', upload_id: upload.id });
    expect(asset.tracks).toContainEqual(expect.objectContaining({ type: 'audio', name: 'Original' }));
    const playlist = await fetch(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
    expect([playlist.status, (await playlist.text()).slice(0, 7)]).toEqual([200, '#EXTM3U']);
    const { source } = await storedIn(join(server.dataDir, 'blobs'), assetId!);
    expect(source!.equals(film)).toBe(true);
    const listed = await ask(server, 'GET', `/video/v1/assets?upload_id=${upload.id}`);
    expect(((await listed.json()) as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual([assetId]);
  });

  it('what is no film makes the asset errored, not the upload', async () => {
    const upload = await create();
    expect((await sendBytes(upload.url!, file)).status).toBe(200);
    const { asset_id: assetId } = await read(upload.id);
    expect(await settled(server, assetId!)).toMatchObject({
      status: 'errored',
      errors: { type: 'invalid_input', messages: ['The input file is not a valid video file.'] },
    });
    expect((await read(upload.id)).status).toBe('asset_created');
  });

  it('a cancelled upload leaves no bytes', async () => {
    const upload = await create();
    await sendChunk(upload.url!, file, 0, 100_000);
    expect(partials()).toHaveLength(1);
    await ask(server, 'PUT', `/video/v1/uploads/${upload.id}/cancel`);
    await until('the bytes are removed', () => partials().length === 0);
  });

  it('an upload times out on time, with its bytes removed, unless a request is sending', async () => {
    const late = await create({ timeout: 60 });
    const sending = await create({ timeout: 60 });
    const later = await create({ timeout: 3600 });
    for (const { url } of [late, later]) await sendChunk(url!, file, 0, 1000);
    const last = openRequest(sending.url!, {
      'content-length': file.length,
      'content-range': `bytes 0-${file.length - 1}/${file.length}`,
    });
    await last.send(file.subarray(0, 2000));
    await until('the request has begun', () => partials().length === 3);
    clock.aheadMs += 61_000;
    await until('the time is over', async () => (await read(late.id)).status === 'timed_out');
    expect(await read(late.id)).toEqual({
      id: late.id,
      status: 'timed_out',
      timeout: 60,
      cors_origin: '*',
      new_asset_settings: {},
    });
    const response = await sendChunk(late.url!, file, 1000, 2000);
    await expectError(response, 410, 'gone', ['This upload is no longer accepting data.']);
    await until('its bytes are removed', () => partials().length === 2);
    expect((await read(sending.id)).status).toBe('waiting');
    last.request.end(file.subarray(2000));
    expect((await last.response()).status).toBe(200);
    expect((await read(sending.id)).status).toBe('asset_created');
    expect((await read(later.id)).status).toBe('waiting');
    expect((await sendChunk(later.url!, file, 1000, file.length)).status).toBe(200);
  });

  it('the request that was sending at the end of the time is the last one', async () => {
    const upload = await create({ timeout: 60 });
    const sending = openRequest(upload.url!, { 'content-range': 'bytes 0-1999/10000', 'content-length': 2000 });
    await sending.send(file.subarray(0, 1000));
    await until('the request has begun', () => partials().length === 1);
    clock.aheadMs += 61_000;
    sending.request.end(file.subarray(1000, 2000));
    expect((await sending.response()).status).toBe(308);
    expect((await read(upload.id)).status).toBe('timed_out');
    expect((await sendChunk(upload.url!, file, 2000, 10_000, 10_000)).status).toBe(410);
    await until('its bytes are removed', () => partials().length === 0);
  });

  it('a request after the time is over is refused before the clock of the queue has struck', async () => {
    const upload = await create({ timeout: 60 });
    clock.aheadMs += 61_000;
    expect((await sendBytes(upload.url!, file)).status).toBe(410);
    expect((await read(upload.id)).status).toBe('timed_out');
  });

  it('a test asset is removed after a day, and an event tells of it', async () => {
    const upload = await create({ test: true });
    await sendBytes(upload.url!, await readFile(await fixture('h264-aac.mp4')));
    const { asset_id: assetId } = await read(upload.id);
    expect(await settled(server, assetId!)).toMatchObject({ status: 'ready', test: true });
    const status = async () => (await ask(server, 'GET', `/video/v1/assets/${assetId}`)).status;
    clock.aheadMs += 24 * 3_600_000 - 600_000;
    expect(await status()).toBe(200);
    clock.aheadMs += 600_000;
    await until('the asset is gone', async () => (await status()) === 404);
    const { data: events } = (await (await ask(server, 'GET', '/system/v1/events')).json()) as {
      data: { type: string; object: object; data: object }[];
    };
    expect(events.filter(({ type }) => type === 'video.asset.deleted')).toEqual([
      expect.objectContaining({
        object: { type: 'asset', id: assetId },
        data: expect.objectContaining({ id: assetId, test: true, upload_id: upload.id }),
      }),
    ]);
    await until('its files are removed', () => filesOf(server.dataDir, assetId!).length === 0);
    expect(await read(upload.id)).toMatchObject({ status: 'asset_created', asset_id: assetId });
  });
});
