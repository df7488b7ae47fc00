import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { type Publisher, startPublisher } from '../support/processes/publisher.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { freePort } from '../support/servers/free-port.js';
import { until } from '../support/servers/server-process.js';
import { type Received, type Receiver, startReceiver } from '../support/servers/webhook-receiver.js';
import { sdkTypeProblems } from '../support/wire/sdk-types.js';

let server: Booted;
let receiver: Receiver;
let mux: Mux;
let rtmpPort: number;
let secret: string;
const publishers: Publisher[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  rtmpPort = await freePort();
  server = await boot({ options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' } });
  const { id: tokenId, secret: tokenSecret } = server.token;
  mux = new Mux({ baseURL: server.url, tokenId, tokenSecret, maxRetries: 0 });
  secret = (await mux.system.webhooks.create({ address: `${receiver.url}/in` })).signing_secret!;
});
afterAll(async () => {
  for (const { process } of publishers) process.kill('SIGKILL');
  await server?.stop();
  await receiver?.stop();
});

/** Sends a file once, at the speed at which it plays. */
const publish = async (key: string): Promise<Publisher> => {
  const args = ['-re', '-i', await fixture('h264-aac.flv'), '-c', 'copy'];
  const publisher = startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${key}`, args);
  publishers.push(publisher);
  return publisher;
};

/**
 * Events about an object, as the SDK reads them, in the order in which they came. One that was not
 * answered in time comes again.
 */
const unwrapped = (id: string): Promise<Mux.Webhooks.UnwrapWebhookEvent[]> => {
  const first = new Map<string, Received>();
  for (const one of receiver.at('/in'))
    if (one.event.object.id === id && !first.has(one.event.id)) first.set(one.event.id, one);
  return Promise.all(
    [...first.values()].map(({ body, headers }) => mux.webhooks.unwrap(body, headers as never, secret)),
  );
};
const untilTold = (id: string, type: string): Promise<void> =>
  until(`${type} has come`, async () => (await unwrapped(id)).some((event) => event.type === type));

it('a receiver with the official SDK reads every event of broadcasts, in their order', async () => {
  const created = await mux.video.liveStreams.create({
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'], passthrough: 'recording-1' },
    latency_mode: 'low',
    reconnect_window: 600,
    passthrough: 'channel-1',
    meta: { title: 'Harbor' },
  });
  const { id, stream_key: key } = created;
  await mux.video.liveStreams.update(id, { meta: { title: 'Harbor at dusk' } });

  await (await publish(key)).output;
  await untilTold(id, 'video.live_stream.disconnected');
  const again = await publish(key);
  await until('the second session is recorded', async () => {
    return (await unwrapped(id)).filter(({ type }) => type === 'video.live_stream.recording').length === 2;
  });
  await again.output;
  await until('the second session has ended', async () => {
    return (await unwrapped(id)).filter(({ type }) => type === 'video.live_stream.disconnected').length === 2;
  });
  await mux.video.liveStreams.complete(id);
  const [assetId] = (await mux.video.liveStreams.retrieve(id)).recent_asset_ids!;
  await untilTold(assetId!, 'video.asset.live_stream_completed');
  await mux.video.liveStreams.disable(id);
  await mux.video.liveStreams.enable(id);
  const target = { url: 'rtmp://live.example.com/app', stream_key: 'elsewhere-1', passthrough: 'elsewhere' };
  const { id: targetId } = await mux.video.liveStreams.createSimulcastTarget(id, target);
  await mux.video.liveStreams.deleteSimulcastTarget(id, targetId!);
  await mux.video.liveStreams.delete(id);
  await untilTold(id, 'video.live_stream.deleted');

  const events = await unwrapped(id);
  const states = events.map((event) => {
    const { status, connected, recording, active_asset_id } = event.data as Mux.Webhooks.WebhookLiveStream;
    const name = event.type.replace('video.live_stream.', '');
    return [name, status, connected, recording, active_asset_id === assetId].join(' ');
  });
  expect(states).toEqual([
    'created idle false false false',
    'updated idle false false false',
    'connected idle true false false',
    'recording idle true true true',
    'active active true true true',
    'disconnected active false false true',
    'connected active true false true',
    'recording active true true true',
    'disconnected active false false true',
    'idle idle false false false',
    'disabled disabled false false false',
    'enabled idle false false false',
    'deleted idle false false false',
  ]);
  const createdAt = Number(created.created_at);
  for (const { data, object } of events) {
    expect(object).toEqual({ type: 'live', id });
    expect(data).toMatchObject({ id, created_at: createdAt, stream_key: key, passthrough: 'channel-1' });
  }
  expect(events.find(({ type }) => type === 'video.live_stream.active')?.data).toMatchObject({
    active_ingest_protocol: 'rtmp',
    playback_ids: created.playback_ids,
    recent_asset_ids: [assetId],
    meta: { title: 'Harbor at dusk' },
  });

  const ofTarget = await unwrapped(targetId);
  expect(ofTarget.map(({ type }) => type.replace('video.live_stream.simulcast_target.', ''))).toEqual([
    'created',
    'deleted',
  ]);
  for (const { data } of ofTarget)
    expect(data).toMatchObject({ id: targetId, live_stream_id: id, status: 'idle', passthrough: 'elsewhere' });

  const ofAsset = await unwrapped(assetId!);
  const told = ofAsset.map(({ type, data }) => {
    const { status, is_live, progress } = data as Mux.Webhooks.WebhookAsset;
    return [type.replace('video.asset.', ''), status, is_live, progress?.state].join(' ');
  });
  expect(told).toEqual([
    'created preparing true live',
    'ready ready true live',
    'live_stream_completed ready false completed',
  ]);
  const [, , completed] = ofAsset;
  expect(completed!.data).toMatchObject({
    live_stream_id: id,
    ingest_type: 'live_rtmp',
    passthrough: 'recording-1',
    recording_times: ['content', 'slate', 'content'].map((type) => ({
      type,
      started_at: { seconds: expect.any(Number), nanos: expect.any(Number) },
    })),
  });
  const all = [...events, ...ofTarget, ...ofAsset];
  expect(sdkTypeProblems('Mux.Webhooks.UnwrapWebhookEvent', all)).toEqual([]);
  // It does notice.
  const wrong = { ...events[0]!, data: { ...events[0]!.data, created_at: created.created_at } };
  expect(sdkTypeProblems('Mux.Webhooks.UnwrapWebhookEvent', [wrong])).toEqual([expect.stringContaining('created_at')]);
});
