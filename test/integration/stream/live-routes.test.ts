import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { counterOf, readFrameCounters, readRgbFrames } from '../../support/media/measure.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { type OnAir, startLivePlayback } from '../../support/players/on-air.js';
import { inSeconds, signToken } from '../../support/players/playback-token.js';
import { until } from '../../support/servers/server-process.js';
import { sendRaw } from '../../support/wire/raw-get.js';

let live: Awaited<ReturnType<typeof startLivePlayback>>;
let onAir: OnAir;

beforeAll(async () => {
  live = await startLivePlayback();
  onAir = await live.goOnAir(await live.addStream(), { firstNumber: 40, firstDiscontinuity: 2 });
  onAir.broadcast.growTo(9);
});
afterAll(() => live?.stop());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${live.server.origin}${path}`, { method, headers });
const statusOf = async (path: string) => {
  const response = await get(path);
  return `${response.status} ${(await response.text()).slice(0, 90)}`;
};
const media = (rendition = '180p', id = onAir.stream.publicId) => `/${id}/live/${rendition}`;

test('the multivariant playlist leads to playlists that keep the rules, and to files that decode', async () => {
  const response = await get(`/${onAir.stream.publicId}.m3u8`);
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-cache']);
  const multivariant = await response.text();
  expect(multivariant).toContain('VALUE="Harbor live"');
  const uris = [...multivariant.matchAll(/^[^#\s]\S*$|(?<=URI=")[^"]+/gm)].map(([uri]) => uri);
  expect(uris).toEqual(['audio', '180p'].map((name) => `${onAir.stream.publicId}/live/${name}/playlist.m3u8`));
  for (const uri of uris) {
    const text = await (await get(`/${uri}`)).text();
    expect(new LiveRules().check(text)).toEqual([]);
    const { segments, hint, discontinuitySequence, firstNumber } = parseLivePlaylist(text);
    expect([firstNumber, discontinuitySequence, hint !== undefined]).toEqual([40, 2, true]);
    for (const segment of segments) {
      const bytes = async (name: string) => Buffer.from(await (await get(`/${uri}/../${name}`)).arrayBuffer());
      const parts = await Promise.all(segment.parts.map((part) => bytes(part.uri)));
      if (segment.uri) expect(await bytes(segment.uri)).toEqual(Buffer.concat(parts));
      if (segment.uri && uri.includes('180p'))
        expect(readFrameCounters([await bytes(segment.map!), ...parts])).toHaveLength(60);
    }
  }
});

test('files are kept forever, playlists are not, and both are sent in part and as a header', async () => {
  const segment = await get(`${media()}/40.m4s`);
  expect(segment.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(segment.headers.get('content-type')).toBe('video/mp4');
  expect(segment.headers.get('access-control-allow-origin')).toBe('*');
  const whole = Buffer.from(await segment.arrayBuffer());
  const part = await get(`${media()}/40.m4s`, { range: 'bytes=10-19' });
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, whole.subarray(10, 20)]);
  const etag = segment.headers.get('etag')!;
  expect((await get(`${media()}/40.m4s`, { 'if-none-match': etag })).status).toBe(304);
  expect((await get(`${media()}/40.0.m4s`, {}, 'HEAD')).status).toBe(200);
  expect((await get(`${media('audio')}/init-40.mp4`)).headers.get('content-type')).toBe('audio/mp4');
  const playlist = `${media()}/playlist.m3u8`;
  expect((await get(playlist)).headers.get('cache-control')).toBe('no-cache');
  expect((await get(`${playlist}?_HLS_msn=41`)).headers.get('cache-control')).toBe('public, max-age=4');
  for (const file of ['init-41.mp4', 'init-99.mp4', '39.m4s', '99.m4s', '40.6.m4s', '44.9.m4s', 'x.mp4', 'init.mp4'])
    expect(await statusOf(`${media()}/${file}`), file).toBe('404 {"code":5,"message":"Not Found"}');
  expect((await get(`${media('999p')}/playlist.m3u8`)).status).toBe(404);
});

test('a playlist is compressed for those who accept that', async () => {
  const path = `${media()}/playlist.m3u8`;
  const { headers, body } = await sendRaw(live.server.origin, path, 'GET', { 'accept-encoding': 'gzip' });
  expect([headers['content-encoding'], headers.vary]).toEqual(['gzip', 'Accept-Encoding']);
  expect(gunzipSync(body).toString()).toBe(await (await get(path, { 'accept-encoding': 'identity' })).text());
});

test('a request waits for its part, and many share one answer', async () => {
  const other = await live.goOnAir(await live.addStream());
  other.broadcast.growTo(5);
  const path = `${media('180p', other.stream.publicId)}/playlist.m3u8`;
  const rules = new LiveRules();
  expect(rules.check(await (await get(path)).text())).toEqual([]);
  const { segments } = rules.current!;
  const { number, parts } = segments.at(-1)!;
  const waiting = Array.from({ length: 20 }, () => get(`${path}?_HLS_msn=${number}&_HLS_part=${parts.length}`));
  const hinted = get(`${media('180p', other.stream.publicId)}/${number}.${parts.length}.m4s`);
  const leaving = new AbortController();
  const left = fetch(`${live.server.origin}${path}?_HLS_msn=${number + 1}`, { signal: leaving.signal });
  await until('all wait', async () => other.broadcast.waiting === 22);
  leaving.abort();
  await expect(left).rejects.toThrow();
  await until('one has left', async () => other.broadcast.waiting === 21);
  other.broadcast.growTo(5.4);
  const texts = new Set(await Promise.all((await Promise.all(waiting)).map((response) => response.text())));
  expect(texts.size).toBe(1);
  expect(rules.check([...texts][0]!)).toEqual([]);
  expect(rules.current!.segments.at(-1)!.parts).toHaveLength(parts.length + 1);
  expect((await hinted).status).toBe(200);
  // A part behind the last one of its segment is the first one of the next.
  expect((await get(`${path}?_HLS_msn=1&_HLS_part=6`)).status).toBe(200);
});

test('directives that make no sense are refused at once', async () => {
  const path = `${media()}/playlist.m3u8`;
  expect(await statusOf(`${path}?_HLS_msn=47`)).toMatch(/^400 .*too far ahead/);
  expect(await statusOf(`${path}?_HLS_part=1`)).toMatch(/^400 .*_HLS_msn/);
  expect(await statusOf(`${path}?_HLS_msn=-1`)).toMatch(/^400 /);
  expect(await statusOf(`${path}?_HLS_msn=1e3`)).toMatch(/^400 /);
  expect(await statusOf(`${path}?clip=x`)).toMatch(/^400 /);
});

test('nothing comes for three target durations: 503', async () => {
  const silent = await live.goOnAir(await live.addStream(), { latencyMode: 'standard' });
  silent.broadcast.growTo(5);
  const startMs = performance.now();
  const response = await get(`${media('180p', silent.stream.publicId)}/playlist.m3u8?_HLS_msn=2`);
  expect([response.status, response.headers.get('cache-control')]).toEqual([503, 'no-cache']);
  expect(performance.now() - startMs).toBeGreaterThan(8900);
});

test('the asset has everything from the start, the live stream the last half minute', async () => {
  const rules = new LiveRules();
  const path = `${media('180p', onAir.asset.publicId)}/playlist.m3u8`;
  const text = await (await get(path)).text();
  expect(rules.check(text)).toEqual([]);
  expect(parseLivePlaylist(text).isEvent).toBe(true);
  expect(rules.check(await (await get(`${path}?_HLS_skip=YES`)).text())).toEqual([]);
  expect(await statusOf(`/${onAir.asset.publicId}.mpd`)).toBe('412 {"code":9,"message":"Not available while live"}');
  expect(await statusOf(`/${onAir.stream.publicId}/storyboard.jpg`)).toMatch(/^412/);
  expect(await statusOf(`/${onAir.asset.publicId}/highest.mp4`)).toMatch(/^412/);
});

test('instant clips of what was just sent', async () => {
  const multivariant = await (await get(`/${onAir.stream.publicId}.m3u8?asset_start_time=2.5&asset_end_time=4`)).text();
  const [, uri] = /^([^#\s]\S*)$/m.exec(multivariant)!;
  expect(uri).toContain('clip=asset_2.500_4.000');
  const text = await (await get(`/${uri}`)).text();
  expect(new LiveRules().check(text)).toEqual([]);
  expect(parseLivePlaylist(text).segments.map(({ number }) => number)).toEqual([41]);
  expect(parseLivePlaylist(text).ended).toBe(true);
  expect(await statusOf(`/${onAir.stream.publicId}.m3u8?asset_start_time=5&asset_end_time=4`)).toMatch(/^400/);
});

/** Playback that is allowed on pages of one domain. */
const restriction = {
  referrer: { allowed_domains: ['allowed.example'], allow_no_referrer: false },
  user_agent: { allow_no_user_agent: true, allow_high_risk_user_agent: true },
};

const stillAt = async (path: string): Promise<number | undefined> => {
  const response = await get(path);
  expect(response.status).toBe(200);
  return counterOf(readRgbFrames([Buffer.from(await response.arrayBuffer())])[0]!);
};

test('thumbnails show what was just sent, with one decode for all who ask', async () => {
  const other = await live.goOnAir(await live.addStream());
  other.broadcast.growTo(5);
  const newest = `/${other.stream.publicId}/thumbnail.jpg?latest=true`;
  const jobs = live.stillJobs.length;
  const responses = await Promise.all(Array.from({ length: 50 }, () => get(newest)));
  expect(new Set(responses.map(({ status, headers }) => `${status} ${headers.get('cache-control')}`))).toEqual(
    new Set(['200 public, max-age=2']),
  );
  expect(live.stillJobs).toHaveLength(jobs + 1);
  // Parts have ten frames of 30 in a second. The last one may wait for those that are shown before.
  const lastFrame = (seconds: number): number => Math.floor(seconds * 3) * 10 - 1;
  expect(await stillAt(newest)).toBeGreaterThan(lastFrame(5) - 5);
  expect(live.stillJobs).toHaveLength(jobs + 1);
  other.broadcast.growTo(12);
  await expect.poll(() => stillAt(newest)).toBeGreaterThan(lastFrame(12) - 5);
  // Without a parameter, the newest frame is meant as well.
  expect(await stillAt(`/${other.asset.publicId}/thumbnail.webp`)).toBeGreaterThan(lastFrame(12) - 5);
});

test('thumbnails of a recording show the frame of a time, from its start on', async () => {
  const path = `/${onAir.asset.publicId}/thumbnail`;
  for (const [time, counter] of [
    [0, 0],
    [2, 60],
    [6, 180],
  ])
    expect(await stillAt(`${path}.png?time=${time}`)).toBe(counter);
  expect(await stillAt(`${path}.jpg?time=1000`)).toBeGreaterThan(264);
  expect((await get(`${path}.jpg?time=2`)).headers.get('cache-control')).toBe('public, max-age=60');
  const small = await get(`${path}.png?time=2&width=160&height=160&fit_mode=pad`);
  const { width, height } = readRgbFrames([Buffer.from(await small.arrayBuffer())])[0]!;
  expect([width, height]).toEqual([160, 160]);
  const invalid = '400 {"code":3,"message":"Invalid parameter"}';
  expect(await statusOf(`${path}.jpg?time=2&latest=true`)).toBe(invalid);
  expect(await statusOf(`${path}.jpg?time=-1`)).toBe(invalid);
  // A live stream has many broadcasts, so no time of its own.
  expect(await statusOf(`/${onAir.stream.publicId}/thumbnail.jpg?time=2`)).toBe(invalid);
});

test('images that need the whole recording are there after the end', async () => {
  for (const id of [onAir.stream.publicId, onAir.asset.publicId])
    for (const file of ['animated.gif', 'animated.webp', 'storyboard.jpg', 'storyboard.vtt', 'storyboard.json'])
      expect(await statusOf(`/${id}/${file}`)).toBe('412 {"code":9,"message":"Not available while live"}');
});

test('audio has no thumbnails', async () => {
  const audio = await live.goOnAir(await live.addStream());
  audio.broadcast.growTo(3);
  audio.broadcast.stills = undefined;
  expect(await statusOf(`/${audio.stream.publicId}/thumbnail.jpg?latest=true`)).toMatch(/^404/);
});

test('before, after and in between: a live stream that is not on air answers 412', async () => {
  const idle = await live.addStream();
  const inactive = '412 {"code":9,"message":"Live stream is not active"}';
  const path = `/${idle.stream.publicId}.m3u8`;
  expect(await statusOf(path)).toBe(inactive);
  expect(await statusOf(`${media('180p', idle.stream.publicId)}/playlist.m3u8`)).toBe(inactive);
  const soon = await live.goOnAir(idle);
  soon.broadcast.growTo(5);
  expect((await get(path)).status).toBe(200);
  const rules = new LiveRules();
  const playlist = `${media('180p', idle.stream.publicId)}/playlist.m3u8`;
  expect(rules.check(await (await get(playlist)).text())).toEqual([]);
  const blocked = get(`${playlist}?_HLS_msn=3`);
  await until('it waits', async () => soon.broadcast.waiting === 1);
  soon.broadcast.end();
  expect(rules.check(await (await blocked).text())).toEqual([]);
  expect(rules.current!.ended).toBe(true);
  soon.takeOff();
  expect(await statusOf(path)).toBe(inactive);
  // Until its recording is planned, or opened after a restart, players ask again.
  expect(await statusOf(`/${soon.asset.publicId}.m3u8`)).toMatch(/^503/);
});

test('signed playback IDs need a token, and their files its signature', async () => {
  const { id: kid, private_key } = await live.server.sdk().system.signingKeys.create();
  const id = onAir.stream.signedId;
  const tokenOf = (claims: object): string =>
    signToken({ keyId: kid, keySecret: private_key! }, { kid, sub: id, aud: 'v', exp: inSeconds(600), ...claims });
  expect(await statusOf(`/${id}.m3u8`)).toMatch(/^403 .*missing/);
  const multivariant = await (await get(`/${id}.m3u8?token=${tokenOf({})}`)).text();
  const [, uri] = /^([^#\s]\S*)$/m.exec(multivariant)!;
  const response = await get(`/${uri}`);
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
  const text = await response.text();
  expect(new LiveRules().check(text)).toEqual([]);
  const { segments, reports } = parseLivePlaylist(text);
  const file = new URL(segments[0]!.uri!, `${live.server.origin}/${uri}`);
  expect((await fetch(file)).headers.get('cache-control')).toBe('private, max-age=3600');
  expect((await get(file.pathname)).status).toBe(403);
  expect(reports.map((report) => report.URI)).toEqual(['../audio/playlist.m3u8']);
  const clipped = tokenOf({ asset_start_time: '2', asset_end_time: '4' });
  const [, clip] = /^([^#\s]\S*)$/m.exec(await (await get(`/${id}.m3u8?token=${clipped}`)).text())!;
  const { search, pathname } = new URL(clip!, `${live.server.origin}/`);
  const base = pathname.replace('playlist.m3u8', '');
  expect([(await get(`${base}41.m4s${search}`)).status, (await get(`${base}43.m4s${search}`)).status]).toEqual([
    200, 403,
  ]);
});

test('thumbnails of signed playback IDs need a token for thumbnails', async () => {
  const { id: kid, private_key } = await live.server.sdk().system.signingKeys.create();
  const { id: playback_restriction_id } = await live.server.sdk().video.playbackRestrictions.create(restriction);
  const pathOf = (id: string, claims: object, query = ''): string => {
    const all = { kid, sub: id, aud: 't', exp: inSeconds(600), ...claims };
    return `/${id}/thumbnail.jpg?token=${signToken({ keyId: kid, keySecret: private_key! }, all)}${query}`;
  };
  for (const id of [onAir.stream.signedId, onAir.asset.signedId]) {
    expect(await statusOf(`/${id}/thumbnail.jpg?latest=true`)).toMatch(/^403 .*missing/);
    expect(await statusOf(pathOf(id, { aud: 'v' }))).toMatch(/^403/);
    const response = await get(pathOf(id, { latest: true }));
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'private, max-age=2']);
    expect(await statusOf(pathOf(id, { latest: 'maybe' }))).toMatch(/^400/);
    const restricted = pathOf(id, { latest: true, playback_restriction_id });
    expect(await statusOf(restricted)).toMatch(/^403/);
    expect((await get(restricted, { referer: 'https://allowed.example/watch' })).status).toBe(200);
  }
  // Of a signed ID, only claims count.
  expect(await stillAt(pathOf(onAir.asset.signedId, { time: 2 }, '&time=4'))).toBe(60);
});

test('restrictions and claims apply to what is on air as to other videos', async () => {
  const sdk = live.server.sdk();
  const { id: kid, private_key } = await sdk.system.signingKeys.create();
  const { id: playback_restriction_id } = await sdk.video.playbackRestrictions.create(restriction);
  for (const id of [onAir.stream.signedId, onAir.asset.signedId]) {
    const claims = { kid, sub: id, aud: 'v', exp: inSeconds(600), playback_restriction_id };
    const path = `/${id}.m3u8?token=${signToken({ keyId: kid, keySecret: private_key! }, claims)}`;
    expect(await statusOf(path)).toMatch(/^403/);
    const allowed = { referer: 'https://allowed.example/watch' };
    const response = await get(path, allowed);
    expect(response.status).toBe(200);
    const [, uri] = /^([^#\s]\S*)$/m.exec(await response.text())!;
    expect((await get(`/${uri}`)).status).toBe(403);
    const playlist = await (await get(`/${uri}`, allowed)).text();
    expect(new LiveRules().check(playlist)).toEqual([]);
    const file = new URL(parseLivePlaylist(playlist).segments[0]!.uri!, `${live.server.origin}/${uri}`);
    expect((await fetch(file)).status).toBe(403);
    expect((await fetch(file, { headers: allowed })).status).toBe(200);
    const late = { ...claims, exp: inSeconds(-60) };
    const expired = `/${id}.m3u8?token=${signToken({ keyId: kid, keySecret: private_key! }, late)}`;
    expect(await statusOf(expired)).toMatch(/^403 .*expired/);
  }
});

test('what was sent counts as delivered', async () => {
  const counted = await live.goOnAir(await live.addStream());
  counted.broadcast.growTo(5);
  const base = media('180p', counted.stream.publicId);
  for (const file of ['0.m4s', '1.0.m4s', '1.1.m4s', 'init-0.mp4']) await (await get(`${base}/${file}`)).arrayBuffer();
  await (await get(`${media('audio', counted.stream.publicId)}/0.m4s`)).arrayBuffer();
  const db = live.server.database.queryable;
  const secondsOf = async (): Promise<number> => {
    const rows = await db.selectFrom('delivery_usage').selectAll().where('asset_id', '=', counted.assetId).execute();
    return rows.reduce((sum, row) => sum + Number(row.delivered_seconds), 0);
  };
  await expect.poll(secondsOf).toBeCloseTo(2 + 2 / 3, 3);
});

test('a budget that is spent stops what is on air, and lets it go on when it is deleted', async () => {
  const counted = await live.goOnAir(await live.addStream());
  counted.broadcast.growTo(5);
  const id = counted.stream.publicId;
  const paths = [`/${id}.m3u8`, `${media('180p', id)}/playlist.m3u8`, `${media('180p', id)}/0.m4s`];
  const bytes = (await (await get(`${media('audio', id)}/0.m4s`)).arrayBuffer()).byteLength;
  const budget = { period: 'day', bytes: bytes + 1000, action: 'stop', asset_id: counted.assetId };
  const created = await live.server.call('POST', '/video/v1/delivery-budgets', budget);
  expect(created.status).toBe(201);
  await (await get(`${media('180p', id)}/0.m4s`)).arrayBuffer();
  for (const path of paths) await expect.poll(() => statusOf(path)).toMatch(/^403 .*The delivery budget is spent/);
  expect(await statusOf(`/${onAir.stream.publicId}.m3u8`)).toMatch(/^200/);
  await live.server.call('DELETE', `/video/v1/delivery-budgets/${(await created.json()).data.id}`);
  for (const path of paths) await expect.poll(() => statusOf(path)).toMatch(/^200/);
});
