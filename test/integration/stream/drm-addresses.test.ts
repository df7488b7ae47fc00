/** No init segment or segment of a DRM playback id is sent in the clear, whatever address is tried. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { alteredAddresses, same } from '../../support/altered-addresses.js';
import { bytesOf, type DrmPlayback, drmPlayback, type PlaybackServer } from '../../support/drm-playback.js';
import { fixture } from '../../support/fixtures.js';
import { type PreparedAsset, startPlayback } from '../../support/playback.js';
import { sendRaw } from '../../support/raw-get.js';
import { readSamples } from '../../support/shaka-packager.js';
import { planFile } from '../../support/video-run.js';

let server: PlaybackServer;
let asset: PreparedAsset;
let other: PreparedAsset;
let play: DrmPlayback;
/** Of a token that allows 270p alone: the path of the first segment, and its query. */
let segment: string;
let query: string;
let token: string;

beforeAll(async () => {
  server = await startPlayback();
  const source = await planFile(await fixture('copy-1080p.mp4'), { quality: 'plus' });
  [asset, other] = [await server.addAsset(source), await server.addAsset(source)];
  const { id, private_key } = await server.sdk().system.signingKeys.create();
  play = drmPlayback(server.origin, { keyId: id, keySecret: private_key! }, asset);
  token = play.token('v', { max_resolution: '270p' });
  const playlist = (await play.children(`/${asset.drmId}.m3u8?token=${token}`)).get('270p')!;
  [segment, query] = playlist.replace('playlist.m3u8', '0.m4s').split('?') as [string, string];
});
afterAll(() => server?.stop());

const address = () => ({ id: asset.drmId, otherId: other.drmId, segment, query, token });

test.each(alteredAddresses(address))('the segment %s', async (_, path, expected) => {
  const { status, body } = await sendRaw(server.origin, path());
  if (expected !== same) return expect(`${status} ${JSON.parse(body.toString()).message}`).toBe(expected);
  const clear = await bytesOf(await play.get(segment.replace(asset.drmId, asset.publicId)));
  expect(status).toBe(200);
  expect(readSamples(body).subsamples.length).toBeGreaterThan(0);
  expect(readSamples(body).data.equals(readSamples(clear).data)).toBe(false);
});

test.each([
  'highest.mp4',
  'audio.m4a',
  '1080p.mp4',
  'init.mp4',
  '0.m4s',
  'thumbnail.jpg',
  'animated.gif',
  'storyboard.vtt',
])('as %s', async (name) => {
  for (const audience of ['', 'd', 'v']) {
    const tokenQuery = audience === '' ? '' : `?token=${play.token(audience)}`;
    const { status } = await play.get(`/${asset.drmId}/${name}${tokenQuery}`);
    expect(audience === 'v' ? [403, 404] : [403]).toContain(status);
  }
});

test('images open with the tokens of images', async () => {
  for (const [name, audience] of [
    ['thumbnail.jpg?time=1', 't'],
    ['storyboard.json?', 's'],
  ])
    expect((await play.get(`/${asset.drmId}/${name}&token=${play.token(audience!)}`)).status).toBe(200);
});

test('when the public id of the same asset is gone', async () => {
  const gone = await server.addAsset(await planFile(await fixture('h264-aac.mp4'), { quality: 'plus' }));
  const [playlist] = (await play.children(`/${gone.publicId}.m3u8`)).values();
  const [, path] = await play.filesOf(playlist!);
  expect((await play.get(path!)).status).toBe(200);
  const { status } = await server.call('DELETE', `/video/v1/assets/${gone.assetId}/playback-ids/${gone.publicId}`);
  expect(status).toBe(204);
  server.playables.forget(gone.publicId);
  expect((await play.get(path!)).status).toBe(404);
  expect((await play.get(path!.replace(gone.publicId, gone.drmId))).status).toBe(403);
});
