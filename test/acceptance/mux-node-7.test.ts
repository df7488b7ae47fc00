import { readFile } from 'node:fs/promises';
import sdk from 'mux-node-7';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { until } from '../support/servers/server-process.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { type Receiver, startReceiver } from '../support/servers/webhook-receiver.js';
import { createWebhook } from '../support/servers/webhooks.js';
import { settled } from '../support/wire/create-asset.js';
import { sendBytes } from '../support/wire/uploading.js';

// Its types describe the CommonJS build, where the class is one level deeper.
const Mux = sdk as unknown as typeof sdk.default;

/**
 * Version 7 of the official SDK, the last one before it was generated: other HTTP client, other
 * calls, old field names.
 */
let mux: InstanceType<typeof Mux>;
let server: Booted;
let origin: Origin;
let receiver: Receiver;
let video: string;

beforeAll(async () => {
  video = await fixture('h264-aac.mp4');
  origin = await serveNamed({
    'video.mp4': { path: video },
    'en.vtt': { text: 'WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n' },
  });
  receiver = await startReceiver();
  server = await boot();
  mux = new Mux(server.token.id, server.token.secret, { baseUrl: server.url });
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
  await origin?.stop();
});

test('an asset is made with the old field names, changed, listed and deleted', async () => {
  const { Assets, PlaybackIds } = mux.Video;
  const created = await Assets.create({
    input: `${origin.url}/video.mp4`,
    playback_policy: 'public',
    mp4_support: 'standard',
    passthrough: 'order-81',
    encoding_tier: 'smart',
  });
  expect(created).toMatchObject({ status: 'preparing', playback_ids: [{ policy: 'public' }], encoding_tier: 'smart' });
  await settled(server, created.id);
  await until('the files are made', async () => (await Assets.get(created.id)).static_renditions?.status === 'ready');
  const asset = await Assets.get(created.id);
  expect(asset).toMatchObject({ status: 'ready', passthrough: 'order-81', mp4_support: 'standard' });
  expect(asset.static_renditions!.files.length).toBeGreaterThan(0);
  expect((await Assets.list({ limit: 5, page: 1 })).map(({ id }) => id)).toEqual([created.id]);
  expect(await Assets.inputInfo(created.id)).toMatchObject([{ settings: { url: `${origin.url}/video.mp4` } }]);
  expect(await Assets.update(created.id, { passthrough: 'order-82' })).toMatchObject({ passthrough: 'order-82' });

  const playbackId = await Assets.createPlaybackId(created.id, { policy: 'signed' });
  expect(await Assets.playbackId(created.id, playbackId.id)).toEqual(playbackId);
  expect(await PlaybackIds.get(playbackId.id)).toMatchObject({ object: { type: 'asset', id: created.id } });
  const track = await Assets.createTrack(created.id, {
    url: `${origin.url}/en.vtt`,
    type: 'text',
    text_type: 'subtitles',
    language_code: 'en',
  });
  expect(track).toMatchObject({ status: 'preparing', name: 'English' });
  await Assets.deleteTrack(created.id, track.id);
  await Assets.deletePlaybackId(created.id, playbackId.id);
  expect(await Assets.updateMasterAccess(created.id, { master_access: 'temporary' })).toMatchObject({
    master: { status: 'preparing' },
  });
  await Assets.del(created.id);
  await expect(Assets.get(created.id)).rejects.toMatchObject({ type: 'not_found' });
});

test('a direct upload is made, filled, listed and cancelled', async () => {
  const { Assets, Uploads } = mux.Video;
  const upload = await Uploads.create({
    cors_origin: 'https://studio.example.org',
    new_asset_settings: { playback_policy: ['public'] } as never,
  });
  expect((await sendBytes(upload.url, await readFile(video))).status).toBe(200);
  const filled = await Uploads.get(upload.id);
  expect(filled).toMatchObject({ status: 'asset_created', new_asset_settings: { playback_policy: ['public'] } });
  expect((await Assets.get(filled.asset_id!)).upload_id).toBe(upload.id);
  const { id } = await Uploads.create({ cors_origin: '*' });
  expect(await Uploads.cancel(id)).toMatchObject({ status: 'cancelled' });
  expect((await Uploads.list({ limit: 10 })).map((one) => [one.id, one.status])).toEqual([
    [id, 'cancelled'],
    [upload.id, 'asset_created'],
  ]);
});

test('tokens signed with its keys open signed playback', async () => {
  const key = await mux.Video.SigningKeys.create();
  const asset = await mux.Video.Assets.create({
    input: [{ url: `${origin.url}/video.mp4` }],
    playback_policy: ['signed'],
  });
  await settled(server, asset.id);
  const playbackId = asset.playback_ids![0]!.id;
  const sign = (type: string) =>
    Mux.JWT.signPlaybackId(playbackId, { keyId: key.id, keySecret: key.private_key!, type, expiration: '1h' });
  const status = async (path: string) => (await fetch(`${server.url}/${playbackId}${path}`)).status;
  expect(await status(`.m3u8?token=${sign('video')}`)).toBe(200);
  expect(await status(`/thumbnail.jpg?token=${sign('thumbnail')}`)).toBe(200);
  expect(await status('.m3u8')).toBe(403);
});

test('deliveries of webhooks pass its check of the signature', async () => {
  const { signing_secret: secret } = await createWebhook(server, `${receiver.url}/in`);
  await mux.Video.Uploads.create({ cors_origin: '*' });
  const [delivery] = await receiver.until('/in', 1);
  const signature = delivery!.headers['mux-signature'] as string;
  expect(Mux.Webhooks.verifyHeader(delivery!.body, signature, secret)).toBe(true);
  expect(() => Mux.Webhooks.verifyHeader(`${delivery!.body} `, signature, secret)).toThrow();
});
