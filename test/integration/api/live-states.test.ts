import { afterAll, beforeAll, expect, it } from 'vitest';
import { findLiveStream } from '#kinora/db/tables/live/live-stream.js';
import { IngestState } from '#kinora/domain/assets/ingest-state.js';
import { type LiveControl, noLiveControl } from '#kinora/domain/live/live-control.js';
import { releaseLiveLease, renewLiveLease } from '#kinora/domain/live/live-lease.js';
import { LiveStates } from '#kinora/domain/live/live-states.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError } from '../../support/wire/expect-error.js';

// Broadcasts as a server makes them that receives an encoder, without media.

let api: Api;
let states: LiveStates;
let ingest: IngestState;
/** What the API asked the server that has the connection, in order. */
const commands: string[] = [];
/** What that server does then. */
let obey: (command: string, id: string) => Promise<unknown> = async () => undefined;
/** Whether it can store the end of a broadcast. */
let isStored = true;
const live: LiveControl = {
  ...noLiveControl,
  complete: async (id) => {
    commands.push('complete');
    await obey('complete', id);
    return isStored;
  },
  disconnect: async (id, reason) => {
    commands.push(reason);
    await obey(reason, id);
    return isStored;
  },
};

beforeAll(async () => {
  api = await startApi({ live });
  states = new LiveStates(api.context);
  ingest = new IngestState(api.context);
});
afterAll(() => api?.stop());

const STREAMS = '/video/v1/live-streams';
const FACTS = {
  durationSeconds: 6,
  video: { width: 1920, height: 1080, frameRate: 30 },
  audio: { channels: 2 },
};
const PROPERTIES = {
  duration: 62.5,
  aspectRatio: '16:9',
  resolutionTier: '1080p',
  maxStoredResolution: 'HD',
  maxStoredFrameRate: 30,
  videoTrack: { duration: 62.5, maxWidth: 1920, maxHeight: 1080, maxFrameRate: 30 },
  audioTrack: { duration: 62.5, maxChannels: 2, maxChannelLayout: 'stereo' },
} as const;
const READY = {
  properties: PROPERTIES,
  facts: { formatName: 'mp4', sizeBytes: 1, durationSeconds: 62.5, audio: [] },
  inputSettings: {},
  embedded: { text: [], audio: [], warnings: [] },
  chapters: [],
  warnings: [],
};
const STARTED = new Date('2026-01-01T10:00:00Z');
const TIMES = [{ started_at: STARTED.toISOString(), duration: 62.5, type: 'content' as const }];
const ENDED = { durationSeconds: 62.5, recordingTimes: TIMES, nextSequence: 31, nextDiscontinuity: 2 };

const get = async (path: string) => (await (await api.call('GET', path)).json()).data;
const create = async (body: object = {}) => {
  const settings = {
    playback_policies: ['public'],
    passthrough: 'rec',
    static_renditions: [{ resolution: 'highest' }],
  };
  const all = { playback_policies: ['public'], new_asset_settings: settings, ...body };
  return (await (await api.call('POST', STREAMS, all)).json()).data;
};
const stream = (id: string) => get(`${STREAMS}/${id}`);
const asset = (id: string) => get(`/video/v1/assets/${id}`);

interface Told {
  readonly type: string;
  readonly object: { readonly type: string; readonly id: string };
  // biome-ignore lint/suspicious/noExplicitAny: any resource
  readonly data: any;
}
/** Events of these objects, the oldest first. */
const told = async (...ids: string[]): Promise<Told[]> =>
  ((await get('/system/v1/events?limit=100')) as Told[])
    .filter(({ object, data }) => ids.includes(object.id) || ids.includes(data.asset_id))
    .reverse();
const types = async (...ids: string[]) => (await told(...ids)).map(({ type }) => type.replace('video.', ''));

/** From the first packet to what viewers can play. */
const goLive = async (id: string) => {
  expect(await states.connected(id, 'rtmp')).toBe(true);
  const { assetId } = (await states.recording(id, { startedAt: STARTED }))!;
  expect(await states.active(id, FACTS)).toBe(true);
  return assetId;
};

it('makes one asset of a broadcast, with events in order', async () => {
  const { id, stream_key: key } = await create();
  expect(await states.findByKey('nothing')).toBeUndefined();
  expect(await states.findByKey(key)).toMatchObject({
    liveStreamId: id,
    status: 'idle',
    reconnectSeconds: 60,
    usesSlate: false,
    maxDurationSeconds: 43_200,
    nextSequence: 1,
  });
  await states.connected(id, 'rtmp');
  expect(await stream(id)).toMatchObject({ status: 'idle' });
  const { assetId, isNew } = (await states.recording(id, { startedAt: STARTED }))!;
  expect(isNew).toBe(true);
  expect(await stream(id)).toMatchObject({ status: 'idle', active_asset_id: assetId, recent_asset_ids: [assetId] });
  expect(await asset(assetId)).toMatchObject({
    status: 'preparing',
    live_stream_id: id,
    is_live: true,
    ingest_type: 'live_rtmp',
    progress: { state: 'live', progress: -1 },
    recording_times: [{ started_at: '2026-01-01T10:00:00.000Z', type: 'content' }],
    passthrough: 'rec',
    video_quality: 'plus',
    playback_ids: [{ policy: 'public' }],
  });
  await states.active(id, FACTS);
  expect(await states.active(id, FACTS)).toBe(false);
  expect(await stream(id)).toMatchObject({ status: 'active', active_ingest_protocol: 'rtmp' });
  const playing = await asset(assetId);
  expect(playing).toMatchObject({
    status: 'ready',
    is_live: true,
    progress: { state: 'live', progress: -1 },
    duration: 6,
    aspect_ratio: '16:9',
    resolution_tier: '1080p',
    max_stored_frame_rate: 30,
    tracks: [
      { type: 'video', max_width: 1920, max_height: 1080, max_frame_rate: 30, duration: 6 },
      { type: 'audio', primary: true, max_channels: 2, duration: 6 },
    ],
  });
  await states.disconnected(id, { recordingTimes: TIMES });
  expect(await stream(id)).toMatchObject({ status: 'active', active_asset_id: assetId });
  await states.connected(id, 'rtmp');
  expect(await states.recording(id, { startedAt: STARTED })).toMatchObject({ assetId, isNew: false });
  expect((await asset(assetId)).recording_times).toHaveLength(2);
  await states.disconnected(id, { recordingTimes: TIMES });
  expect(await states.ended(id, ENDED)).toBe(true);
  expect(await states.ended(id, ENDED)).toBe(false);
  const idle = await stream(id);
  expect(idle).toMatchObject({ status: 'idle', recent_asset_ids: [assetId] });
  expect(idle).not.toHaveProperty('active_asset_id');
  expect(idle).not.toHaveProperty('active_ingest_protocol');
  expect(await states.findByKey(key)).toMatchObject({ nextSequence: 31, nextDiscontinuity: 2 });
  expect(await asset(assetId)).toMatchObject({
    ...{ status: 'ready', is_live: false, duration: 62.5, recording_times: TIMES },
    progress: { state: 'ingesting', progress: 0 },
  });

  const { rows } = await queuedIngests(assetId);
  expect(rows).toBe(1);
  expect(await ingest.complete(assetId, READY)).toBe(true);
  const completed = await asset(assetId);
  expect(completed).toMatchObject({
    ...{ status: 'ready', is_live: false, duration: 62.5 },
    progress: { state: 'completed', progress: 100 },
    static_renditions: { files: [{ name: 'highest.mp4', status: 'preparing' }] },
  });
  // The tracks keep their IDs.
  const ids = (tracks: { id: string }[]) => tracks.map((track) => track.id);
  expect(ids(completed.tracks)).toEqual(ids(playing.tracks));
  expect(completed.tracks[0].duration).toBe(62.5);
  expect(await types(id, assetId)).toEqual([
    'live_stream.created',
    'live_stream.connected',
    'asset.created',
    'asset.static_rendition.created',
    'live_stream.recording',
    'live_stream.active',
    'asset.ready',
    'live_stream.disconnected',
    'live_stream.connected',
    'live_stream.recording',
    'live_stream.disconnected',
    'live_stream.idle',
    'asset.live_stream_completed',
  ]);
  const [created, connected, , , recording] = await told(id, assetId);
  expect(created).toMatchObject({ object: { type: 'live', id }, data: { connected: false, recording: false } });
  expect(created!.data.created_at).toBeTypeOf('number');
  expect(connected!.data).toMatchObject({ status: 'idle', connected: true, recording: false });
  expect(recording!.data).toMatchObject({ connected: true, recording: true, active_asset_id: assetId });
});

const queuedIngests = async (assetId: string) => {
  const jobs = await api.database.queryable
    .selectFrom('job')
    .select('id')
    .where('queue', '=', 'ingest')
    .where('key', '=', assetId)
    .execute();
  return { rows: jobs.length };
};

it('makes an ordinary asset of a broadcast that ended before it could be played', async () => {
  const { id } = await create();
  await states.connected(id, 'srt');
  const { assetId } = (await states.recording(id, { startedAt: STARTED }))!;
  await states.ended(id, ENDED);
  expect(await asset(assetId)).toMatchObject({ status: 'preparing', is_live: false, ingest_type: 'live_srt' });
  await ingest.complete(assetId, READY);
  expect((await types(id, assetId)).slice(-3)).toEqual([
    'live_stream.idle',
    'asset.ready',
    'asset.live_stream_completed',
  ]);
});

it('tells why a recording can not be planned', async () => {
  const { id } = await create();
  const assetId = await goLive(id);
  await states.ended(id, ENDED);
  await ingest.fail(assetId, new Error('broken'), { jobId: 'j', hasSource: true, detail: 'd' });
  expect(await asset(assetId)).toMatchObject({ status: 'errored', errors: { type: 'internal_error' } });
  expect((await types(assetId)).slice(-2)).toEqual(['asset.errored', 'asset.static_rendition.errored']);
});

it('has subtitles recognized after the end', async () => {
  const { id } = await create({ generated_subtitles: [{ language_code: 'en-US', name: 'CC', passthrough: 'x' }] });
  const assetId = await goLive(id);
  await states.ended(id, ENDED);
  await ingest.complete(assetId, READY);
  expect((await asset(assetId)).tracks[2]).toMatchObject({
    ...{ type: 'text', status: 'preparing', text_source: 'generated_live_final' },
    ...{ name: 'CC', language_code: 'en', passthrough: 'x' },
  });
  expect((await types(assetId)).at(-1)).toBe('asset.track.created');
});

it('makes an asset for each broadcast', async () => {
  const { id } = await create();
  const first = await goLive(id);
  await states.ended(id, ENDED);
  const second = await goLive(id);
  await states.ended(id, ENDED);
  expect((await stream(id)).recent_asset_ids).toEqual([first, second]);
  const list = await get(`/video/v1/assets?live_stream_id=${id}`);
  expect(list.map((entry: { id: string }) => entry.id)).toEqual([second, first]);
});

it('has the server that receives it end a broadcast', async () => {
  const { id } = await create();
  const assetId = await goLive(id);
  obey = (_, streamId) => states.ended(streamId, ENDED);
  commands.length = 0;
  const completed = await api.call('PUT', `${STREAMS}/${id}/complete`);
  expect([completed.status, await completed.json()]).toEqual([200, { data: {} }]);
  expect(await asset(assetId)).toMatchObject({ is_live: false, recording_times: TIMES });
  // Without a broadcast there is nothing to do.
  await api.call('PUT', `${STREAMS}/${id}/complete`);
  expect(commands).toEqual(['complete']);
  obey = async () => undefined;
});

it('accepts no encoder while it is disabled', async () => {
  const { id } = await create();
  await goLive(id);
  obey = async (_, streamId) => {
    await states.disconnected(streamId, { recordingTimes: TIMES });
    await states.ended(streamId, ENDED);
  };
  commands.length = 0;
  for (const _ of [1, 2]) expect((await api.call('PUT', `${STREAMS}/${id}/disable`)).status).toBe(200);
  obey = async () => undefined;
  expect(await stream(id)).toMatchObject({ status: 'disabled' });
  expect(await states.connected(id, 'rtmp')).toBe(false);
  expect(await states.recording(id, { startedAt: STARTED })).toBeUndefined();
  for (const _ of [1, 2]) expect((await api.call('PUT', `${STREAMS}/${id}/enable`)).status).toBe(200);
  expect(await stream(id)).toMatchObject({ status: 'idle' });
  expect((await types(id)).slice(-4)).toEqual([
    'live_stream.disabled',
    'live_stream.disconnected',
    'live_stream.idle',
    'live_stream.enabled',
  ]);
  expect(commands).toEqual(['disabled', 'disabled']);
});

it.each(['complete', 'disable'])('ends a broadcast that no server has any more: %s', async (command) => {
  const { id } = await create();
  const assetId = await goLive(id);
  await api.call('PUT', `${STREAMS}/${id}/${command}`);
  expect(await asset(assetId)).toMatchObject({ is_live: false });
  expect((await queuedIngests(assetId)).rows).toBe(1);
});

it('keeps the recording of a live stream that is deleted', async () => {
  const { id, playback_ids: playbackIds } = await create({ simulcast_targets: [{ url: 'rtmp://x.test/app' }] });
  const assetId = await goLive(id);
  const owner = await get(`/video/v1/playback-ids/${playbackIds[0].id}`);
  expect(owner).toMatchObject({ ...playbackIds[0], object: { type: 'live_stream', id } });
  commands.length = 0;
  expect((await api.call('DELETE', `${STREAMS}/${id}`)).status).toBe(204);
  expect(commands).toEqual(['deleted', 'deleted']);
  expect((await api.call('GET', `${STREAMS}/${id}`)).status).toBe(404);
  expect((await api.call('GET', `/video/v1/playback-ids/${playbackIds[0].id}`)).status).toBe(404);
  expect(await asset(assetId)).toMatchObject({ is_live: false, live_stream_id: id });
  expect(await states.disconnected(id, { recordingTimes: TIMES })).toBe(false);
  expect(await states.ended(id, ENDED)).toBe(false);
  expect((await types(id)).slice(-2)).toEqual(['live_stream.idle', 'live_stream.deleted']);
  expect(api.forgotten).toContainEqual({ playbackId: playbackIds[0].id });
});

it('keeps the asset that is being recorded', async () => {
  const { id } = await create();
  const assetId = await goLive(id);
  const refused = await api.call('DELETE', `/video/v1/assets/${assetId}`);
  await expectError(refused, 400, 'invalid_parameters', [
    'The asset is being recorded; complete the live stream first',
  ]);
  await states.ended(id, ENDED);
  expect((await api.call('DELETE', `/video/v1/assets/${assetId}`)).status).toBe(204);
  expect(await stream(id)).not.toHaveProperty('recent_asset_ids');
});

it('disconnects the encoder when the stream key is reset', async () => {
  const { id, stream_key: key } = await create();
  const assetId = await goLive(id);
  commands.length = 0;
  const response = await api.call('POST', `${STREAMS}/${id}/reset-stream-key`);
  expect(response.status).toBe(201);
  const { data } = await response.json();
  expect(data.stream_key).not.toBe(key);
  expect(commands).toEqual(['stream key reset']);
  expect(await states.findByKey(key)).toBeUndefined();
  expect(await states.findByKey(data.stream_key)).toMatchObject({ liveStreamId: id });
  // The recording waits for its encoder.
  expect(await asset(assetId)).toMatchObject({ is_live: true });
  expect((await types(id)).at(-1)).toBe('live_stream.updated');
});

it('ends a test stream at its limit', async () => {
  const { id, stream_key: key } = await create({ test: true });
  expect(await states.findByKey(key)).toMatchObject({ isTest: true, maxDurationSeconds: 300 });
  const assetId = await goLive(id);
  expect(await asset(assetId)).toMatchObject({ test: true });
  await states.ended(id, ENDED, { disables: true });
  expect(await stream(id)).toMatchObject({ status: 'disabled' });
  expect((await types(id)).slice(-2)).toEqual(['live_stream.idle', 'live_stream.disabled']);
});

it('records without settings that refer to something that was deleted', async () => {
  const { id } = await create();
  const settings = JSON.stringify({ playback_policies: ['signed'], directives: [{ id: 'drv_gone' }] });
  const table = api.database.queryable.updateTable('live_stream');
  await table.set({ new_asset_settings: settings }).where('id', '=', id).execute();
  const assetId = await goLive(id);
  expect(await asset(assetId)).toMatchObject({ playback_ids: [{ policy: 'signed' }] });
  const warning = (await told(assetId)).find(({ type }) => type === 'video.asset.warning');
  expect(warning!.data).toMatchObject({ live_stream_id: id, warning: { type: 'settings_left_out' } });
  expect(warning!.data.warning.message).toContain('does not refer to an existing directive');
});

it('warns about live streams and their recordings', async () => {
  const { id } = await create();
  const assetId = await goLive(id);
  const warning = { type: 'slate', message: 'The slate could not be fetched.' };
  await states.warnStream(id, warning);
  await states.warn(assetId, { type: 'key_frames', message: 'Key frames are too far apart.' });
  const warnings = (await told(id, assetId)).filter(({ type }) => type.endsWith('warning'));
  expect(warnings.map(({ type, data }) => [type, data.warning.type])).toEqual([
    ['video.live_stream.warning', 'slate'],
    ['video.asset.warning', 'slate'],
    ['video.asset.warning', 'key_frames'],
  ]);
  expect(warnings[0]!.data).toMatchObject({ id, active_asset_id: assetId, status: 'active', warning });
});

it('tells the states of simulcast targets, which change only between broadcasts', async () => {
  const { id, simulcast_targets: targets } = await create({ simulcast_targets: [{ url: 'rtmp://x.test/app' }] });
  const [{ id: targetId }] = targets;
  await goLive(id);
  const url = `${STREAMS}/${id}/simulcast-targets`;
  const refusal = ['Simulcast targets can only be changed while the live stream is idle'];
  const post = await api.call('POST', url, { url: 'rtmp://x.test/app' });
  await expectError(post, 400, 'invalid_parameters', refusal);
  await expectError(await api.call('DELETE', `${url}/${targetId}`), 400, 'invalid_parameters', refusal);
  await states.simulcast(id, targetId, 'starting');
  await states.simulcast(id, targetId, 'broadcasting');
  expect(await states.simulcast(id, targetId, 'broadcasting')).toBe(false);
  await states.simulcast(id, targetId, 'errored', 'fatal');
  expect(await get(`${url}/${targetId}`)).toMatchObject({ status: 'errored', error_severity: 'fatal' });
  await states.disconnected(id, { recordingTimes: TIMES });
  await states.ended(id, ENDED);
  expect((await api.call('DELETE', `${url}/${targetId}`)).status).toBe(204);
  const events = await told(targetId);
  expect(events.map(({ type }) => type.replace('video.live_stream.simulcast_target.', ''))).toEqual([
    'created',
    'starting',
    'broadcasting',
    'errored',
    'idle',
    'deleted',
  ]);
  expect(events[3]).toMatchObject({ object: { type: 'simulcast_target' }, data: { live_stream_id: id } });
});

it('returns targets to idle when another server takes over from an encoder that had sent nothing', async () => {
  const { id, simulcast_targets: targets } = await create({ simulcast_targets: [{ url: 'rtmp://x.test/app' }] });
  const [{ id: targetId }] = targets;
  const lost = new LiveStates(api.context, 'node-lost');
  await lost.connected(id, 'rtmp');
  await lost.simulcast(id, targetId, 'starting');
  const abandoned = { liveStreamId: id, ownerId: 'node-lost' };
  expect(await new LiveStates(api.context, 'node-2').takeOver(abandoned)).toBe('free');
  expect((await types(id)).at(-1)).toBe('live_stream.disconnected');
  expect(await get(`${STREAMS}/${id}/simulcast-targets/${targetId}`)).toMatchObject({ status: 'idle' });
});

it('is taken over by one server from one that runs no more, which then changes nothing', async () => {
  const { id } = await create();
  const [lost, second, third] = ['lost', 'second', 'third'].map((node) => new LiveStates(api.context, node));
  await lost!.connected(id, 'rtmp');
  const { assetId, term } = (await lost!.recording(id, { startedAt: STARTED }))!;
  const abandoned = { liveStreamId: id, ownerId: 'lost' };
  const db = api.context.database.queryable;
  await renewLiveLease(db, 'lost');
  expect([await second!.abandoned(), await second!.takeOver(abandoned)]).toEqual([[], undefined]);
  await releaseLiveLease(db, 'lost');
  expect(await second!.abandoned()).toEqual([abandoned]);
  const taken = await Promise.all([second!.takeOver(abandoned), third!.takeOver(abandoned)]);
  const [winner, other] = taken[0] ? [second!, third!] : [third!, second!];
  expect(taken.filter(Boolean)).toEqual([expect.objectContaining({ assetId, disconnectedAt: expect.any(Date) })]);
  expect((taken.find(Boolean) as { term: number }).term).toBeGreaterThan(term);
  const own = [{ liveStreamId: id, assetId }];
  expect([await lost!.lost(own), await other.lost(own), await winner.lost(own)]).toEqual([[id], [id], []]);
  const before = (await findLiveStream(db, id))!;
  expect([await lost!.ended(id, ENDED), await other.giveUp(id), await winner.giveUp(id)]).toEqual([false, false, true]);
  // It must not store its file over that of the other server, nor may numbers be used again.
  expect([await lost!.lost(own), await winner.lost(own)]).toEqual([[id], []]);
  const after = (await findLiveStream(db, id))!;
  expect(after.next_sequence - before.next_sequence).toBeGreaterThan(before.max_continuous_duration);
  expect(await types(id)).toEqual([
    ...['created', 'connected', 'recording', 'disconnected', 'idle'].map((type) => `live_stream.${type}`),
  ]);
});

it('finds broadcasts that a stop has interrupted', async () => {
  const ofOneServer = new LiveStates(api.context, 'node-1');
  const [left, recording] = [await create(), await create()];
  await ofOneServer.connected(left.id, 'srt');
  await ofOneServer.connected(recording.id, 'rtmp');
  const { assetId } = (await ofOneServer.recording(recording.id, { startedAt: STARTED }))!;
  await ofOneServer.active(recording.id, FACTS);
  await ofOneServer.disconnected(recording.id, { recordingTimes: TIMES });
  expect(await ofOneServer.interrupted()).toEqual([
    {
      settings: expect.objectContaining({ liveStreamId: left.id }),
      ...{ assetId: undefined, protocol: 'srt', isActive: false, disconnectedAt: undefined, recordingTimes: [] },
      ...{ startedAt: expect.any(Date), term: expect.any(Number) },
    },
    {
      settings: expect.objectContaining({ liveStreamId: recording.id }),
      ...{ assetId, protocol: 'rtmp', isActive: true, recordingTimes: TIMES },
      ...{ startedAt: expect.any(Date), disconnectedAt: expect.any(Date), term: expect.any(Number) },
    },
  ]);
  expect(await new LiveStates(api.context, 'node-2').interrupted()).toEqual([]);
});

it('tells changes once that are saved again, because their first response was lost', async () => {
  const { id } = await create();
  const twice = async <T>(change: () => Promise<T>): Promise<T> => {
    const first = await change();
    await change();
    return first;
  };
  await twice(() => states.connected(id, 'rtmp'));
  const { assetId } = (await twice(() => states.recording(id, { startedAt: STARTED })))!;
  await twice(() => states.active(id, FACTS));
  await twice(() => states.disconnected(id, { recordingTimes: TIMES }));
  await twice(() => states.connected(id, 'rtmp'));
  await twice(() => states.recording(id, { startedAt: STARTED }));
  expect((await asset(assetId)).recording_times).toHaveLength(2);
  await twice(() => states.disconnected(id, { recordingTimes: TIMES }));
  await twice(() => states.ended(id, ENDED));
  const session = ['connected', 'recording', 'disconnected'];
  const [, ...told] = (await types(id)).map((type) => type.replace('live_stream.', ''));
  expect(told).toEqual([...session.toSpliced(2, 0, 'active'), ...session, 'idle']);
});

it('does not end a broadcast whose recording can not be stored yet', async () => {
  const { id } = await create();
  const assetId = await goLive(id);
  isStored = false;
  expect((await api.call('PUT', `${STREAMS}/${id}/complete`)).status).toBe(200);
  expect((await api.call('PUT', `${STREAMS}/${id}/disable`)).status).toBe(200);
  expect((await api.call('DELETE', `${STREAMS}/${id}`)).status).toBe(503);
  isStored = true;
  expect(await asset(assetId)).toMatchObject({ is_live: true });
  expect(await states.ended(id, ENDED)).toBe(true);
  expect((await api.call('DELETE', `${STREAMS}/${id}`)).status).toBe(204);
});
