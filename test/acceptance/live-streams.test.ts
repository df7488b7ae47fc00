import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';

let api: Api;
let mux: Mux;
beforeAll(async () => {
  api = await startApi();
  mux = api.sdk();
});
afterAll(() => api?.stop());

const create = (body: Mux.Video.LiveStreamCreateParams = {}) =>
  mux.video.liveStreams.create({ playback_policies: ['public'], ...body });

it('makes, reads, lists, changes and deletes live streams', async () => {
  const created = await create({
    new_asset_settings: { playback_policies: ['public'], inputs: [{}] },
    passthrough: 'channel-1',
    meta: { title: 'Harbor' },
  });
  expect(created).toMatchObject({
    status: 'idle',
    created_at: expect.stringMatching(/^\d{10}$/),
    playback_ids: [{ policy: 'public' }],
    new_asset_settings: { playback_policies: ['public'] },
  });
  expect(await mux.video.liveStreams.retrieve(created.id)).toEqual(created);
  const older = [created];
  for (let count = 0; count < 2; count++) older.unshift(await create());
  const listed: Mux.Video.LiveStream[] = [];
  for await (const stream of mux.video.liveStreams.list({ limit: 2, status: 'idle' })) listed.push(stream);
  expect(listed).toEqual(older);
  const { data: found } = await mux.video.liveStreams.list({ stream_key: created.stream_key });
  expect(found).toEqual([created]);
  const update = { latency_mode: 'low' as const, reconnect_window: 20, meta: { title: '' } };
  const { meta: _, ...rest } = created;
  expect(await mux.video.liveStreams.update(created.id, update)).toEqual({
    ...{ ...rest, latency_mode: 'low', low_latency: true, reconnect_window: 20 },
  });
  for (const { id } of listed) await mux.video.liveStreams.delete(id);
  await expect(mux.video.liveStreams.retrieve(created.id)).rejects.toThrow(Mux.NotFoundError);
});

it('changes the state and the key of a live stream', async () => {
  const { id, stream_key: key } = await create();
  await mux.video.liveStreams.complete(id);
  await mux.video.liveStreams.disable(id);
  expect((await mux.video.liveStreams.retrieve(id)).status).toBe('disabled');
  await mux.video.liveStreams.enable(id);
  const reset = await mux.video.liveStreams.resetStreamKey(id);
  expect(reset).toMatchObject({ id, status: 'idle' });
  expect(reset.stream_key).not.toBe(key);
});

it('makes and deletes playback IDs', async () => {
  const { id } = await create({ playback_policies: [] });
  const made = await mux.video.liveStreams.createPlaybackId(id, { policy: 'signed' });
  expect(made).toEqual({ id: expect.any(String), policy: 'signed' });
  expect(await mux.video.liveStreams.retrievePlaybackId(id, made.id)).toEqual(made);
  const owner = await mux.video.playbackIds.retrieve(made.id);
  expect(owner).toEqual({ ...made, object: { type: 'live_stream', id } });
  await mux.video.liveStreams.deletePlaybackId(id, made.id);
  await expect(mux.video.liveStreams.retrievePlaybackId(id, made.id)).rejects.toThrow(Mux.NotFoundError);
});

it('replaces subtitles and static renditions', async () => {
  const { id } = await create();
  const embedded = [{ name: 'CC', language_code: 'en', language_channel: 'cc2' as const, passthrough: 'p' }];
  const { embedded_subtitles } = await mux.video.liveStreams.updateEmbeddedSubtitles(id, {
    embedded_subtitles: embedded,
  });
  expect(embedded_subtitles).toEqual(embedded);
  const generated = [{ name: 'ASR', language_code: 'pt' as const }];
  const { generated_subtitles } = await mux.video.liveStreams.updateGeneratedSubtitles(id, {
    generated_subtitles: generated,
  });
  expect(generated_subtitles).toEqual(generated);
  expect(await mux.video.liveStreams.updateGeneratedSubtitles(id, { generated_subtitles: [] })).not.toHaveProperty(
    'generated_subtitles',
  );
  const files = [{ resolution: 'audio-only' as const }, { resolution: 'highest' as const, passthrough: 'x' }];
  const changed = await mux.video.liveStreams.updateNewAssetSettingsStaticRenditions(id, { static_renditions: files });
  expect(changed.new_asset_settings).toEqual({ static_renditions: files });
  await mux.video.liveStreams.deleteNewAssetSettingsStaticRenditions(id);
  expect((await mux.video.liveStreams.retrieve(id)).new_asset_settings).toEqual({});
});

it('makes and deletes simulcast targets', async () => {
  const { id } = await create();
  const request = { url: 'rtmp://live.example.com/app', stream_key: 'abcdefgh', passthrough: 'Example' };
  const target = await mux.video.liveStreams.createSimulcastTarget(id, request);
  expect(target).toEqual({ ...request, id: expect.any(String), status: 'idle' });
  expect(await mux.video.liveStreams.retrieveSimulcastTarget(id, target.id)).toEqual(target);
  expect((await mux.video.liveStreams.retrieve(id)).simulcast_targets).toEqual([target]);
  await mux.video.liveStreams.deleteSimulcastTarget(id, target.id);
  expect(await mux.video.liveStreams.retrieve(id)).not.toHaveProperty('simulcast_targets');
});

it('knows the types of events about live streams', async () => {
  const { id } = await create({ simulcast_targets: [{ url: 'rtmp://live.example.com/app' }] });
  await mux.video.liveStreams.disable(id);
  const response = await api.call('GET', '/system/v1/events?limit=3');
  const events = ((await response.json()) as { data: Mux.Webhooks.UnwrapWebhookEvent[] }).data.reverse();
  const told = events.map((event) => {
    if (event.type === 'video.live_stream.created') return [event.data.id, event.data.connected, event.data.recording];
    if (event.type === 'video.live_stream.simulcast_target.created') return [event.data.live_stream_id];
    if (event.type === 'video.live_stream.disabled') return [event.data.status, typeof event.data.created_at];
    return [event.type];
  });
  expect(told).toEqual([[id, false, false], [id], ['disabled', 'number']]);
});
