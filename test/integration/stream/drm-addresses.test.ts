/**
 * No init segment or segment of a DRM playback id is sent unencrypted, whatever address is tried.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { planFile } from '../../support/media/video-run.js';
import {
  bytesOf,
  type DrmPlayback,
  type PlaybackServer,
  startDrmPlayback,
} from '../../support/players/drm-playback.js';
import type { PreparedAsset } from '../../support/players/playback.js';
import { readSamples } from '../../support/players/shaka-packager.js';
import { alteredAddresses, same } from '../../support/wire/altered-urls.js';
import { sendRaw } from '../../support/wire/raw-get.js';

let server: PlaybackServer;
let asset: PreparedAsset;
let other: PreparedAsset;
let play: DrmPlayback;
/** Of a token that allows 270p alone: the path of the first segment, and its query. */
let segment: string;
let query: string;
let token: string;

beforeAll(async () => {
  ({ server, asset, other, play } = await startDrmPlayback());
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

describe('nothing in the clear', () => {
  /** Blocks that are encrypted on the way to viewers, as the cache has them. */
  const secrets: Buffer[] = [];
  beforeAll(async () => {
    for (const rendition of ['270p', '720p', 'audio']) {
      const [, clearPath] = await play.openFiles(rendition);
      const [, path] = await play.drmFiles(rendition);
      const [clear, sent] = await Promise.all([clearPath!, path!].map(async (each) => bytesOf(await play.get(each))));
      const { data } = readSamples(clear!);
      // The first encrypted block. Audio is encrypted from its first byte on.
      const counts = readSamples(sent!).subsamples.flat();
      const at = counts.findIndex((count, index) => index % 2 === 1 && count >= 16);
      const start = counts.slice(0, Math.max(0, at)).reduce((sum, count) => sum + count, 0);
      const secret = data.subarray(start, start + 16);
      expect([clear!.includes(secret), sent!.includes(secret)]).toEqual([true, false]);
      secrets.push(secret);
    }
  });
  const isClear = (body: Buffer) => secrets.some((secret) => body.includes(secret));

  const names = [
    ...['', '/', '.m3u8', '.mp4', '/highest.mp4', '/high.mp4', '/medium.mp4', '/low.mp4', '/capped-1080p.mp4'],
    ...['/1080p.mp4', '/370p.mp4', '/audio.m4a', '/audio.mp3', '/master.mp4', '/source', '/source.mp4', '/download'],
    ...[
      '/init.mp4',
      '/0.m4s',
      '/370p/0.m4s',
      `/${GENERATION}/270p/init.mp4`,
      `/${GENERATION}/270p/0.m4s`,
      `/${GENERATION}/270p/0.ts`,
      `/${GENERATION}/270p/0.mp4`,
    ],
    ...[
      `/${GENERATION}/270p`,
      `/${GENERATION}/270p/playlist.m3u8`,
      `/${GENERATION}/audio/0.m4s`,
      `/${GENERATION}/source/0.m4s`,
      `/${GENERATION}/270p/0.m4s/0.m4s`,
      '/1/270p/0.m4s',
    ],
    ...[
      '/text/270p.vtt',
      '/text/0.m4s',
      '/metadata.json',
      '/thumbnail.jpg?time=1',
      '/thumbnail.mp4',
      '/animated.gif?end=1',
    ],
    ...['/animated.mp4', '/storyboard.vtt', '/storyboard.json', '/storyboard.jpg', '/0.webp', '/manifest.mpd'],
  ];
  /** What each audience opens; all else is refused, or there is no such thing. */
  const opened: Record<string, RegExp> = {
    v: /^(\/?|\.m3u8|\/metadata\.json)$/,
    t: /^\/thumbnail\.jpg/,
    g: /^\/animated\.gif/,
    s: /^\/storyboard\./,
    d: /^$never/,
  };
  const refusals: [string, () => string][] = [
    ['no token', () => ''],
    ['an empty token', () => 'token='],
    ['an expired one', () => `token=${play.token('v', { exp: 1 })}`],
    ['one of another asset', () => `token=${play.token('v', {}, other.drmId)}`],
    ['one of the signed id of the asset', () => `token=${play.token('v', {}, asset.signedId)}`],
    ['one of a license host', () => `drm-token=${play.token('d')}`],
    ['one of no audience', () => `token=${play.token('')}`],
    ['one of several audiences that are none', () => `token=${play.token('x', { aud: ['V', 'video', ''] })}`],
    ['one in a list', () => `token[]=${play.token('v')}`],
    ['one before an empty one', () => `token=${play.token('v')}&token=`],
    ['one of another name', () => `Token=${play.token('v')}`],
  ];
  const path = (name: string, parameters: string, id = asset.drmId) =>
    `/${id}${name}${parameters === '' ? '' : `${name.includes('?') ? '&' : '?'}${parameters}`}`;

  test.each(Object.keys(opened))('with a token of the audience %s', async (audience) => {
    for (const name of names) {
      const { status, body } = await sendRaw(server.origin, path(name, `token=${play.token(audience)}`));
      const expected = opened[audience]!.test(name) ? [200] : [403, 404];
      expect(expected, `${name} ${status}`).toContain(status);
      expect(isClear(body), name).toBe(false);
    }
  });

  test.each(refusals)('with %s', async (_, parameters) => {
    for (const name of names) {
      const { status, body } = await sendRaw(server.origin, path(name, parameters()));
      expect([403, 404], `${name} ${status}`).toContain(status);
      expect(isClear(body), name).toBe(false);
    }
  });

  test('when the id is spelt in another way', async () => {
    const { drmId } = asset;
    const escaped = `%${drmId.charCodeAt(0).toString(16)}${drmId.slice(1)}`;
    const good = `token=${play.token('v')}`;
    expect((await sendRaw(server.origin, path('.m3u8', good, escaped))).status).toBe(200);
    for (const id of [
      drmId.toLowerCase(),
      drmId.toUpperCase(),
      `${drmId}%00`,
      `${drmId}%20`,
      `${drmId}.mp4`,
      `.${drmId}`,
    ])
      for (const name of ['.m3u8', '/highest.mp4', `/${GENERATION}/270p/0.m4s`])
        expect((await sendRaw(server.origin, path(name, good, id))).status, `${id}${name}`).toBe(404);
  });

  test('with the signature of another id of the asset, nor the other way round', async () => {
    const signedToken = play.token('v', {}, asset.signedId);
    const signed = (await play.children(`/${asset.signedId}.m3u8?token=${signedToken}`)).get('270p')!;
    for (const [from, to, address] of [
      [asset.signedId, asset.drmId, signed.replace('playlist.m3u8', '0.m4s')],
      [asset.drmId, asset.signedId, (await play.drmFiles('270p'))[1]!],
    ] as const) {
      const { status, body } = await sendRaw(server.origin, address.replace(from, to));
      expect(`${status} ${JSON.parse(body.toString()).message}`).toBe('403 Token signature is invalid');
    }
  });

  test.each([
    ['a part', 'GET', { range: 'bytes=0-' }, 206],
    ['its end', 'GET', { range: 'bytes=-1000000000' }, 206],
    ['several parts', 'GET', { range: 'bytes=0-99,200-299' }, 200],
    ['a part of the clear file', 'GET', { range: 'bytes=0-', 'if-range': 'clear' }, 200],
    ['another version', 'GET', { 'if-none-match': 'clear' }, 200],
    ['another coding', 'GET', { 'accept-encoding': 'gzip, br' }, 200],
    ['another type', 'GET', { accept: 'text/html' }, 200],
    ['another host', 'GET', { host: 'image.example.com' }, 200],
    [
      'another path by a proxy',
      'GET',
      { 'x-original-url': '/x', 'x-rewrite-url': '/x', 'x-forwarded-prefix': '/x' },
      200,
    ],
    ['no body', 'HEAD', {}, 200],
  ])('when %s is asked for', async (_, method, headers: Record<string, string>, status) => {
    for (const rendition of ['270p', 'audio']) {
      const [, clearPath] = await play.openFiles(rendition);
      const etag = (await play.get(clearPath!, {}, 'HEAD')).headers.get('etag')!;
      const asked = Object.entries(headers).map(([name, value]) => [name, value === 'clear' ? etag : value]);
      const [, drmPath] = await play.drmFiles(rendition);
      const response = await sendRaw(server.origin, drmPath!, method, Object.fromEntries(asked));
      expect([response.status, isClear(response.body)]).toEqual([status, false]);
    }
  });

  test('in redundant streams', async () => {
    const claims = { redundant_streams: true };
    const master = await play.textOf(`/${asset.drmId}.m3u8?token=${play.token('v', claims)}`);
    const playlists = new Set(master.match(/^[^#\n]+270p\/playlist\.m3u8.*$/gm));
    expect(playlists.size).toBe(2);
    for (const playlist of playlists) {
      const [init, first] = await play.filesOf(`/${playlist}`);
      expect((await bytesOf(await play.get(init!))).includes('encv')).toBe(true);
      expect(isClear(await bytesOf(await play.get(first!)))).toBe(false);
    }
  });
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
