import Mux from '@mux/mux-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { until } from '../support/servers/server-process.js';
import { type Receiver, startReceiver } from '../support/servers/webhook-receiver.js';
import { serveFiles } from '../support/wire/create-asset.js';

let server: Booted;
let receiver: Receiver;
let files: Origin;
beforeAll(async () => {
  receiver = await startReceiver();
  files = await serveFiles([await fixture('h264-aac.mp4'), await fixture('one-key-frame.mp4')]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
  await files?.stop();
});

const connect = () =>
  new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });

describe('the official SDK', () => {
  it('makes a webhook and accepts what comes to it, but no changed byte', async () => {
    const mux = connect();
    const webhook = await mux.system.webhooks.create({ address: `${receiver.url}/in` });
    expect(webhook).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{6}$/),
      address: `${receiver.url}/in`,
      enabled: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      signing_secret: expect.stringMatching(/^[a-z0-9]{32}$/),
    });
    const secret = webhook.signing_secret!;
    const asset = await mux.video.assets.create({
      inputs: [{ url: 'http://127.0.0.1:1/none.mp4' }],
      playback_policies: ['public'],
      meta: { title: 'Smörgåsbord 🎬' },
    });
    const [delivery] = await receiver.until('/in', 1);
    const { body, headers } = delivery!;
    const event = await mux.webhooks.unwrap(body, headers as never, secret);
    expect(event).toMatchObject({ type: 'video.asset.created', object: { type: 'asset', id: asset.id } });
    const changed = body.replace('preparing', 'Preparing');
    expect(changed).not.toBe(body);
    await expect(mux.webhooks.unwrap(changed, headers as never, secret)).rejects.toThrow('No signatures found');
    await expect(mux.webhooks.unwrap(body, headers as never, `${secret}x`)).rejects.toThrow('No signatures found');
    await mux.system.webhooks.delete(webhook.id);
  });
});

describe('the events of an asset', () => {
  const mux = () => connect();
  let path = '';
  beforeAll(async () => {
    path = '/sequence';
    await mux().system.webhooks.create({ address: `${receiver.url}${path}` });
  });

  /** What came about an asset, once `count` events have, without the family's name. */
  const eventsOf = async (assetId: string, count: number) => {
    const mine = () => receiver.at(path).filter(({ event }) => event.object.id === assetId);
    await until(`${count} events of ${assetId}`, () => mine().length >= count);
    return mine().map(({ event }) => event);
  };
  const typesOf = (events: { type: string }[]) => events.map(({ type }) => type.replace('video.asset.', ''));
  const create = (url: string) =>
    mux().video.assets.create({ inputs: [{ url }], playback_policies: ['public'], passthrough: 'order-81' });

  it('are created and ready for a standard input', async () => {
    const asset = await create(`${files.url}/0.mp4`);
    const events = await eventsOf(asset.id, 2);
    expect(typesOf(events)).toEqual(['created', 'ready']);
    const createdAt = Number(asset.created_at);
    // A snapshot of the moment; only the time of creation is written differently.
    expect(events[0]!.data).toEqual({ ...asset, created_at: createdAt });
    const ready = await mux().video.assets.retrieve(asset.id);
    expect(events[1]!.data).toEqual({ ...ready, created_at: createdAt });
    expect(events[1]!.data).toMatchObject({ status: 'ready', passthrough: 'order-81', tracks: expect.any(Array) });
    expect(events[1]).toMatchObject({
      request_id: null,
      object: { type: 'asset', id: asset.id },
      environment: { name: 'Default', id: expect.stringMatching(/^[a-z0-9]{6}$/) },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      attempts: [],
      accessor_source: null,
      accessor: null,
    });

    const playbackId = await mux().video.assets.createPlaybackId(asset.id, { policy: 'signed' });
    await mux().video.assets.deletePlaybackId(asset.id, playbackId.id);
    await mux().video.assets.delete(asset.id);
    const all = await eventsOf(asset.id, 5);
    expect(typesOf(all)).toEqual(['created', 'ready', 'updated', 'updated', 'deleted']);
    expect(all.map(({ data }) => (data.playback_ids as unknown[]).length)).toEqual([1, 1, 2, 1, 1]);
    expect(all[4]!.data).toMatchObject({ status: 'ready', passthrough: 'order-81' });
  });

  it('tell of an input that is not standard', async () => {
    const asset = await create(`${files.url}/1.mp4`);
    const events = await eventsOf(asset.id, 3);
    expect(typesOf(events)).toEqual(['created', 'non_standard_input_detected', 'ready']);
    expect(events[1]!.data).toMatchObject({
      status: 'preparing',
      non_standard_input_reasons: { video_gop_size: 'high' },
    });
  });

  it('tell of a failure', async () => {
    const asset = await create(`${files.url}/404`);
    const events = await eventsOf(asset.id, 2);
    expect(typesOf(events)).toEqual(['created', 'errored']);
    expect(events[1]!.data).toMatchObject({
      status: 'errored',
      errors: { type: 'invalid_input', messages: ['The input file could not be downloaded: HTTP status 404.'] },
    });
  });
});
