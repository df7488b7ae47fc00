import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { inSeconds, type OwnedKey, signToken } from '../support/players/playback-token.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';

let server: Booted;
let files: Origin;
let mux: Mux;
let key: OwnedKey;
let signedId: string;

beforeAll(async () => {
  files = await serveFiles([await fixture('h264-aac.mp4')]);
  server = await boot();
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
  const inputs = [{ url: `${files.url}/0` }];
  const asset = await settled(server, (await createAsset(server, { inputs, playback_policies: ['signed'] })).id);
  signedId = asset.playback_ids![0]!.id;
  const { id, private_key } = await mux.system.signingKeys.create();
  key = { keyId: id, keySecret: private_key! };
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
});

type Type = 'video' | 'thumbnail' | 'gif' | 'storyboard';
const sign = (type: Type, params: Record<string, string> = {}) =>
  mux.jwt.signPlaybackId(signedId, { ...key, type, params });
const get = (file: string, token: string, query = '') =>
  fetch(`${server.url}/${signedId}/${file}?token=${token}${query}`);
const pngSize = async (response: Response): Promise<number[]> => {
  const bytes = Buffer.from(await response.arrayBuffer());
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
};

const FILES: [string, Type][] = [
  ['thumbnail.png', 'thumbnail'],
  ['animated.gif', 'gif'],
  ['storyboard.jpg', 'storyboard'],
  ['storyboard.vtt', 'storyboard'],
  ['storyboard.json', 'storyboard'],
  ['metadata.json', 'video'],
];

test.each(FILES)('%s needs a token of its own kind', async (file, type) => {
  for (const other of ['video', 'thumbnail', 'gif', 'storyboard'] as const) {
    const response = await get(file, await sign(other));
    const found = response.ok ? 'ok' : [response.status, await response.json()];
    const refused = [403, { code: 7, message: 'Token audience does not match' }];
    expect(found, other).toEqual(other === type ? 'ok' : refused);
    expect(response.headers.get('cache-control'), other).toMatch(/^private/);
  }
  const bare = await fetch(`${server.url}/${signedId}/${file}`);
  expect([bare.status, await bare.json()]).toEqual([403, { code: 7, message: 'Token is missing' }]);
});

test('parameters are claims: texts or numbers, empty ones absent, those of the query ignored', async () => {
  const token = await sign('thumbnail', { width: '64', height: '', time: '1' });
  const size = await pngSize(await get('thumbnail.png', token));
  expect(size[0]).toBe(64);
  expect(await pngSize(await get('thumbnail.png', token, '&width=128&time=x'))).toEqual(size);
  const claims = { kid: key.keyId, sub: signedId, aud: 't', exp: inSeconds(60) };
  expect(await pngSize(await get('thumbnail.png', signToken(key, { ...claims, width: 64, time: 1 })))).toEqual(size);
  const bad = await get('thumbnail.png', await sign('thumbnail', { width: '0' }));
  expect([bad.status, (await bad.json()).code]).toEqual([400, 3]);
});

test('one call signs for every kind; a restriction holds for images as well', async () => {
  const { id } = await mux.video.playbackRestrictions.create({
    referrer: { allowed_domains: ['example.com'] },
    user_agent: {},
  });
  const tokens = await mux.jwt.signPlaybackId(signedId, {
    ...key,
    type: ['video', ['thumbnail', { width: '64' }], 'storyboard'],
    params: { playback_restriction_id: id },
  });
  const status = async (file: string, token: string | undefined, referer?: string) => {
    const headers: HeadersInit = referer === undefined ? {} : { referer };
    return (await fetch(`${server.url}/${signedId}${file}?token=${token}`, { headers })).status;
  };
  for (const [file, token] of [
    ['.m3u8', tokens['playback-token']],
    ['/thumbnail.png', tokens['thumbnail-token']],
    ['/storyboard.vtt', tokens['storyboard-token']],
  ] as const) {
    expect(await status(file, token), file).toBe(403);
    expect(await status(file, token, 'https://example.org/'), file).toBe(403);
    expect(await status(file, token, 'https://example.com/page'), file).toBe(200);
  }
});

test('a bad parameter comes before a restriction, as for playlists', async () => {
  const bad: [string, Type, Record<string, string>, string][] = [
    ['thumbnail.png', 'thumbnail', { width: '0' }, 'Invalid parameter'],
    ['thumbnail.png', 'thumbnail', { fit_mode: 'x' }, 'Unrecognized fit-mode'],
    ['animated.gif', 'gif', { fps: '31' }, 'Invalid parameter'],
    ['animated.gif', 'gif', { start: '1000000' }, 'Invalid parameter'],
    ['storyboard.vtt', 'storyboard', { asset_start_time: '1000000' }, 'Invalid parameter'],
    ['storyboard.jpg', 'storyboard', { asset_end_time: '0' }, 'Invalid parameter'],
  ];
  for (const [file, type, params, message] of bad) {
    const response = await get(file, await sign(type, { ...params, playback_restriction_id: 'x' }));
    expect([response.status, await response.json()], `${file} ${JSON.stringify(params)}`).toEqual([
      400,
      { code: 3, message },
    ]);
  }
});

test('the sheet that a storyboard names can be had with the same token', async () => {
  const storyboard = await get('storyboard.vtt', await sign('storyboard'), '&format=webp');
  const sheet = new URL(/^(\S+)#xywh/m.exec(await storyboard.text())![1]!, storyboard.url);
  expect(sheet.pathname).toBe(`/${signedId}/storyboard.webp`);
  const response = await fetch(sheet);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/webp']);
});
