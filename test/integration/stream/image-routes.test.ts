import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let key: OwnedKey;
let asset: PreparedAsset;

beforeAll(async () => {
  server = await startPlayback();
  const { id, private_key } = await server.sdk().system.signingKeys.create();
  key = { keyId: id, keySecret: private_key! };
  asset = await server.addAsset(await planFile(await fixture('h264-aac.mp4')));
});
afterAll(() => server?.stop());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(new URL(path, server.origin), { method, headers });
const bytesOf = async (path: string): Promise<Buffer> => Buffer.from(await (await get(path)).arrayBuffer());
const counterAt = async (path: string) => counterOf(readRgbFrames([await bytesOf(path)])[0]!);
const sign = (aud: string, claims: object = {}): string =>
  signToken(key, { kid: key.keyId, sub: asset.signedId, aud, exp: inSeconds(600), ...claims });
/** How many jobs the media processes get while `work` runs. */
const jobsDuring = async (work: () => Promise<unknown>): Promise<number> => {
  const run = vi.spyOn(server.pool, 'run');
  try {
    await work();
    return run.mock.calls.length;
  } finally {
    run.mockRestore();
  }
};

test.each([
  'thumbnail.jpg?width=64',
  'animated.webp?end=0.5&width=64',
  'storyboard.png',
  'storyboard.vtt',
  'storyboard.json',
])('%s: validators, HEAD, other origins', async (file) => {
  const path = `/${asset.publicId}/${file}`;
  const first = await get(path);
  const body = Buffer.from(await first.arrayBuffer());
  const { headers } = first;
  expect(first.status).toBe(200);
  expect(headers.get('access-control-allow-origin')).toBe('*');
  expect(headers.get('access-control-expose-headers')).toBe('Content-Length, Content-Range, Accept-Ranges');
  expect(headers.get('etag')).toMatch(/^"[0-9a-f]{32}"$/);
  expect(Number(headers.get('content-length'))).toBe(body.length);

  const head = await get(path, {}, 'HEAD');
  expect((await head.arrayBuffer()).byteLength).toBe(0);
  for (const name of ['etag', 'content-length', 'content-type', 'cache-control']) {
    expect(head.headers.get(name), name).toBe(headers.get(name));
  }
  const unchanged = await get(path, { 'if-none-match': headers.get('etag')! });
  expect([unchanged.status, (await unchanged.arrayBuffer()).byteLength]).toEqual([304, 0]);
  expect(unchanged.headers.get('cache-control')).toBe(headers.get('cache-control'));
  expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);

  const options = await get(path, {}, 'OPTIONS');
  expect([options.status, options.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const refused = await get(path, {}, method);
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  }
  expect((await bytesOf(path)).equals(body)).toBe(true);
});

test('how long answers may be kept', async () => {
  const control = async (id: string, file: string) => (await get(`/${id}/${file}`)).headers.get('cache-control');
  expect(await control(asset.publicId, 'thumbnail.jpg')).toBe('public, max-age=60');
  expect(await control(asset.publicId, 'thumbnail.jpg?time=')).toBe('public, max-age=60');
  expect(await control(asset.publicId, 'thumbnail.jpg?time=2')).toBe('public, max-age=86400');
  for (const file of ['animated.gif?end=0.5&width=32', 'storyboard.jpg', 'storyboard.vtt', 'storyboard.json']) {
    expect(await control(asset.publicId, file), file).toBe('public, max-age=86400');
  }
  expect(await control(asset.signedId, `thumbnail.jpg?token=${sign('t')}`)).toBe('private, max-age=60');
  expect(await control(asset.signedId, `thumbnail.jpg?token=${sign('t', { time: 2 })}`)).toBe('private, max-age=86400');
  expect(await control(asset.signedId, `storyboard.vtt?token=${sign('s')}`)).toBe('private, max-age=86400');
  // Refusals are not kept.
  expect(await control(asset.publicId, 'thumbnail.jpg?width=0')).toBe('no-cache');
  expect(await control(asset.signedId, 'thumbnail.jpg')).toBe('private, no-cache');
});

test('one part of an image can be asked for', async () => {
  const path = `/${asset.publicId}/storyboard.jpg`;
  const whole = await bytesOf(path);
  const part = await get(path, { range: 'bytes=10-19' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${whole.length}`]);
  expect(Buffer.from(await part.arrayBuffer())).toEqual(whole.subarray(10, 20));
});

test('equal images are made once, also by requests at the same time; all playback ids share them', async () => {
  const query = 'time=3.2&width=123';
  const same = [
    `/${asset.publicId}/thumbnail.jpg?${query}`,
    `/${asset.publicId}/thumbnail.jpeg?${query}&fit_mode=pad`,
    `/${asset.publicId}/thumbnail.jpg?width=123&time=3.20&flip_h=0&unknown=1`,
    `/${asset.signedId}/thumbnail.jpg?token=${sign('t', { time: '3.2', width: 123 })}`,
  ];
  const etags = new Set<string | null>();
  const jobs = await jobsDuring(async () => {
    for (const response of await Promise.all([...same, ...same].map((path) => get(path)))) {
      expect(response.status).toBe(200);
      etags.add(response.headers.get('etag'));
      await response.arrayBuffer();
    }
  });
  expect([jobs, etags.size]).toEqual([1, 1]);
  expect(await jobsDuring(() => bytesOf(same[0]!))).toBe(0);
  expect(await jobsDuring(() => bytesOf(`/${asset.publicId}/thumbnail.jpg?time=3.3&width=123`))).toBe(1);
});

test('an image of an odd height from an HDR source of an odd size is filled to its last row', async () => {
  const { publicId } = await server.addAsset(await planFile(await fixture('hdr-odd-size.webm')));
  const [image] = readRgbFrames([await bytesOf(`/${publicId}/thumbnail.png?width=480&time=0.5`)]);
  const { width, height, rgb } = image!;
  expect([width, height]).toEqual([480, 271]);
  const sumOf = (row: number, channel: number): number => {
    let sum = 0;
    for (let at = row * width * 3 + channel; at < (row + 1) * width * 3; at += 3) sum += rgb[at]!;
    return sum;
  };
  // The frame is bluish at its bottom; samples that nobody wrote are green.
  const lastRows = Array.from({ length: 8 }, (_, fromEnd) => height - 1 - fromEnd);
  expect(lastRows.filter((row) => sumOf(row, 1) >= sumOf(row, 2))).toEqual([]);
});

test('the time of the asset is that of images without one', async () => {
  const { assetId, publicId, signedId } = await server.addAsset(await planFile(await fixture('h264-aac.mp4')));
  const thumbnail = `/${publicId}/thumbnail.png`;
  // The middle of 6 s at 30 frames a second.
  expect(await counterAt(thumbnail)).toBe(90);
  const change = server.database.queryable.updateTable('asset').set({ thumbnail_time: 1.5 });
  await change.where('id', '=', assetId).execute();
  server.playables.forget(assetId);
  expect(await counterAt(thumbnail)).toBe(45);
  expect(await counterAt(`${thumbnail}?time=2`)).toBe(60);
  const token = sign('t', { sub: signedId });
  // On a signed id the time has to be a claim.
  expect(await counterAt(`/${signedId}/thumbnail.png?time=2&token=${token}`)).toBe(45);
  expect(await counterAt(`/${signedId}/thumbnail.png?token=${sign('t', { sub: signedId, time: '2' })}`)).toBe(60);
});

test('a storyboard points to the sheet beside it, with what belongs to it, whatever host was asked', async () => {
  const imageIn = async (path: string) => {
    const texts: string[] = [];
    const { hostname, port } = new URL(server.origin);
    const elsewhere = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    for (const headers of [{}, elsewhere]) {
      for (const file of [path, path.replace('.vtt', '.json')]) {
        const outgoing = request({ hostname, port, path: file, headers }).end();
        const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
        texts.push(Buffer.concat(await response.toArray()).toString());
      }
    }
    const [vtt, json] = texts as [string, string];
    expect(texts.slice(2)).toEqual([vtt, json]);
    const { url } = JSON.parse(json) as { url: string };
    expect(new Set([...vtt.matchAll(/^\S+(?=#xywh)/gm)].map(([found]) => found))).toEqual(new Set([url]));
    return new URL(url, new URL(path, server.origin)).href;
  };
  const vtt = `/${asset.publicId}/storyboard.vtt`;
  const sheet = `/${asset.publicId}/storyboard`;
  expect(await imageIn(vtt)).toBe(`${server.origin}${sheet}.jpg`);
  expect(await imageIn(`${vtt}?format=webp`)).toBe(`${server.origin}${sheet}.webp`);
  const token = sign('s', { asset_start_time: 1, asset_end_time: 3 });
  const signed = await imageIn(`/${asset.signedId}/storyboard.vtt?format=webp&token=${token}`);
  expect(signed).toBe(`${server.origin}/${asset.signedId}/storyboard.webp?token=${token}`);

  // The sheet of a window is that of the same window.
  const window = await imageIn(`${vtt}?asset_start_time=1&asset_end_time=3`);
  expect(window).toBe(`${server.origin}${sheet}.jpg?asset_start_time=1&asset_end_time=3`);
  const png = [window.replace('.jpg', '.png'), signed.replace('.webp', '.png')];
  const [ofPublic, ofSigned] = await Promise.all(png.map(bytesOf));
  expect(ofPublic!.equals(ofSigned!)).toBe(true);
  expect((await bytesOf(`${sheet}.png`)).equals(ofPublic!)).toBe(false);
});

test('what a multivariant playlist names for previews and chapters can be had as it is written there', async () => {
  const token = signToken(key, {
    kid: key.keyId,
    sub: asset.signedId,
    aud: 'v',
    exp: inSeconds(600),
    roku_trick_play: true,
    asset_start_time: 4.5,
  });
  for (const [address, isSigned] of [
    [`/${asset.publicId}.m3u8?roku_trick_play=true&asset_start_time=4.5`, false],
    [`/${asset.signedId}.m3u8?token=${token}`, true],
  ] as const) {
    const playlist = await (await get(address)).text();
    const child = /^#EXT-X-IMAGE-STREAM-INF:.*RESOLUTION=256x144,CODECS="jpeg",URI="(.*)"$/m.exec(playlist)![1]!;
    const images = await get(new URL(child, server.origin).href);
    expect([images.status, images.headers.get('content-type')]).toEqual([200, 'application/vnd.apple.mpegurl']);
    const text = await images.text();
    // The second of the two segments: 2 s.
    expect(text).toContain('#EXTINF:2.000000,\n#EXT-X-TILES:RESOLUTION=256x144,LAYOUT=5x10,DURATION=0.040000\n');
    const sheet = new URL(/^storyboard.*$/m.exec(text)![0], images.url);
    const response = await get(sheet.href);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(response.headers.get('cache-control')).toMatch(isSigned ? /^private, / : /^public, .*immutable/);
    const [image] = readRgbFrames([Buffer.from(await response.arrayBuffer())]);
    expect([image!.width, image!.height]).toEqual([1280, 1440]);
    const first = { width: 256, height: 144, ptsSeconds: 0, rgb: Buffer.alloc(256 * 144 * 3) };
    for (let y = 0; y < 144; y++) image!.rgb.copy(first.rgb, y * 256 * 3, y * 1280 * 3, (y * 1280 + 256) * 3);
    expect(counterOf(first)).toBe(120);
    sheet.searchParams.set('segments', '0-2');
    expect((await get(sheet.href)).status).toBe(isSigned ? 403 : 200);

    const chapters = /^#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI="(.*)"$/m.exec(playlist)![1]!;
    expect(chapters.startsWith(`${server.origin}/`)).toBe(true);
    expect([(await get(chapters)).status, chapters.includes('?signature=')]).toEqual([200, isSigned]);
  }
  expect((await get(`/${asset.signedId}/${GENERATION}/images/playlist.m3u8`)).status).toBe(403);
  expect((await get(`/${asset.publicId}/99/images/playlist.m3u8`)).status).toBe(404);
});

test('only a host name that is one, and what trusted proxies say, gets into a playlist', async () => {
  const chaptersAt = async (origin: string, headers: Record<string, string>, { publicId } = asset) => {
    const { hostname, port } = new URL(origin);
    const outgoing = request({ hostname, port, path: `/${publicId}.m3u8`, headers }).end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const playlist = Buffer.concat(await response.toArray()).toString();
    expect(playlist).toMatch(/^#EXTM3U/);
    return /com\.apple\.hls\.chapters",URI="([^"]*)\/[^/]*\/metadata\.json/.exec(playlist)?.[1];
  };
  const forwarded = { 'x-forwarded-host': 'video.example', 'x-forwarded-proto': 'https' };
  expect(await chaptersAt(server.origin, { host: 'evil"host' })).toBeUndefined();
  expect(await chaptersAt(server.origin, { host: 'a.example', ...forwarded })).toBe('http://a.example');

  const trusted = await startPlayback({ trustedProxies: ['127.0.0.1/32'] });
  try {
    const other = await trusted.addAsset(await planFile(await fixture('h264-aac.mp4')));
    expect(await chaptersAt(trusted.origin, { host: 'a.example', ...forwarded }, other)).toBe('https://video.example');
    expect(await chaptersAt(trusted.origin, { ...forwarded, 'x-forwarded-host': 'evil"host' }, other)).toBeUndefined();
    expect(await chaptersAt(trusted.origin, { host: 'a.example', 'x-forwarded-proto': 'ftp' }, other)).toBeUndefined();
  } finally {
    await trusted.stop();
  }
});

test('work that nobody waits for any more ends', async () => {
  const { hostname, port } = new URL(server.origin);
  const before = server.store.totalBytes;
  const leaving = request({ hostname, port, path: `/${asset.publicId}/animated.gif?width=640&fps=30&end=6` });
  leaving.on('error', () => undefined).end();
  const run = vi.spyOn(server.pool, 'run');
  await vi.waitFor(() => expect(run).toHaveBeenCalled(), 60_000);
  const { signal } = run.mock.calls[0]![1];
  leaving.destroy();
  await once(signal!, 'abort');
  run.mockRestore();
  expect(server.store.totalBytes).toBe(before);
});

test('images go with their asset', async () => {
  const { assetId, publicId } = await server.addAsset(await planFile(await fixture('h264-aac.mp4')));
  const before = server.store.totalBytes;
  await bytesOf(`/${publicId}/thumbnail.jpg`);
  await bytesOf(`/${publicId}/storyboard.jpg`);
  expect(server.store.totalBytes).toBeGreaterThan(before);
  await server.store.removeAsset(assetId);
  expect(server.store.totalBytes).toBe(before);
});

test('a source that cannot be decoded is an internal error without its cause', async () => {
  const { plan } = await planFile(await fixture('h264-aac.mp4'));
  const broken = await server.addAsset({ path: import.meta.filename, plan });
  for (const file of ['thumbnail.jpg', 'animated.gif', 'storyboard.jpg']) {
    const response = await get(`/${broken.publicId}/${file}`);
    expect([response.status, await response.json()]).toEqual([500, { code: 13, message: 'Internal error' }]);
  }
  // What is worked out from the plan alone needs no video.
  expect((await get(`/${broken.publicId}/storyboard.vtt`)).status).toBe(200);
});
