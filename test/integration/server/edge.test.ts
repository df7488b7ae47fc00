import { afterAll, beforeAll, expect, it } from 'vitest';
import { renditionChild } from '#kinora/domain/playback/write-playlist.js';
import { ChildSigner, type Grant } from '#kinora/domain/signing/child-signer.js';
import { systemClock } from '#kinora/lib/clock.js';
import { fixture } from '../../support/media/fixtures.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { cleanUpServers, makeDataDir, startServer, until } from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { createDrmConfiguration, createSigningKey } from '../../support/wire/drm.js';

const EDGE_SECRET = 'a-secret-that-both-of-them-know';
const MINUTE_MS = 60_000;

let origin: Booted;
let edge: Booted;
let files: Origin;
let assetId: string;
let publicId: string;
let signedId: string;
let drmId: string;
let key: OwnedKey;
let aheadMs = 0;
let isOriginStopped = false;
/** Of segments, by path. */
const secondsOf = new Map<string, number>();
/** Of segments that were sent whole. */
let sentSeconds = 0;

beforeAll(async () => {
  origin = await boot({ options: { EDGE_SECRET, METRICS_PORT: '0', CACHE_TAG: 'Cache-Tag' } });
  edge = await boot({
    options: { ROLES: 'edge', EDGE_SECRET, EDGE_ORIGIN: origin.url, CACHE_TAG: 'Cache-Tag', METRICS_PORT: '0' },
    clock: { now: systemClock.now, monotonicMs: () => systemClock.monotonicMs() + aheadMs },
  });
  files = await serveFiles([await fixture('marks-30.mp4')]);
  const inputs = [{ url: `${files.url}/0` }];
  const configuration = await createDrmConfiguration(origin, ['--key-source', 'local']);
  const drm = { policy: 'drm', drm_configuration_id: configuration };
  const policies = [{ policy: 'public' }, { policy: 'signed' }, drm];
  const { id } = await createAsset(origin, { inputs, video_quality: 'plus', advanced_playback_policies: policies });
  const asset = await settled(origin, id);
  expect(asset.status).toBe('ready');
  assetId = id;
  [publicId, signedId, drmId] = ['public', 'signed', 'drm'].map(
    (policy) => asset.playback_ids!.find((playback) => playback.policy === policy)!.id,
  ) as [string, string, string];
  key = await createSigningKey(origin);
});
afterAll(async () => {
  await edge?.stop();
  if (!isOriginStopped) await origin?.stop();
  await files?.stop();
  await cleanUpServers();
});

it.each(['not a type', '/', 'a/b/c', ';;;'])('refuses a license request with the Content-Type %s', async (type) => {
  for (const { url } of [origin, edge]) {
    for (const system of ['clearkey', 'widevine', 'nonsense']) {
      const response = await fetch(`${url}/license/${system}/${drmId}`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: '{}',
      });
      expect([response.status, await response.json()]).toEqual([
        415,
        { code: 3, message: 'Content-Type is not a valid media type' },
      ]);
    }
  }
});

const tokenOf = (seconds: number, claims: object = {}): string =>
  signToken(key, { sub: signedId, aud: 'v', exp: inSeconds(seconds), kid: key.keyId, ...claims });

const linesOf = async (playlist: string, headers = {}): Promise<string[]> => {
  const response = await fetch(playlist, { headers });
  const text = await response.text();
  expect([response.status, playlist, response.ok ? '' : text]).toEqual([200, playlist, '']);
  const urls = text.split('\n').flatMap((line) => {
    return line === '' || line.startsWith('#') ? [] : [new URL(line, playlist)];
  });
  const durations = [...text.matchAll(/#EXTINF:([\d.]+)/g)].map(([, seconds]) => Number(seconds));
  for (const [number, seconds] of durations.entries()) secondsOf.set(urls[number]!.pathname, seconds);
  return urls.map(({ href }) => href);
};
/** URLs of the segments of the first rendition. */
const segmentsOf = async (multivariant: string, headers = {}): Promise<string[]> => {
  const [rendition] = await linesOf(multivariant, headers);
  return linesOf(rendition!, headers);
};
const signedSegments = (server: Booted, seconds: number, claims = {}, headers = {}): Promise<string[]> =>
  segmentsOf(`${server.url}/${signedId}.m3u8?token=${tokenOf(seconds, claims)}`, headers);
const at = (server: Booted, url: string): string => url.replace(/^http:\/\/[^/]+/, server.url);

const originRequests = async (): Promise<number> => {
  const text = await (await fetch(origin.metricsUrl!)).text();
  return [...text.matchAll(/^kinora_segment_requests_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
};
const play = async (url: string, headers = {}): Promise<Buffer> => {
  const response = await fetch(url, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect([response.status, url]).toEqual([200, url]);
  sentSeconds += secondsOf.get(new URL(url).pathname) ?? 0;
  return bytes;
};
/** What a viewer gets who may not have it. */
const refusalOf = async (url: string, init: RequestInit = {}): Promise<unknown> => {
  const response = await fetch(url, init);
  const names = ['cache-control', 'access-control-allow-origin', 'content-type', 'retry-after'];
  return [response.status, await response.text(), names.map((name) => response.headers.get(name))];
};

it('asks the origin once for each segment of signed playback, whoever the viewers are', async () => {
  const first = await signedSegments(edge, 600);
  const second = await signedSegments(edge, 700);
  expect(first.map((url) => url.replace(/\?.*/, ''))).toEqual(second.map((url) => url.replace(/\?.*/, '')));
  expect(first[0]).not.toBe(second[0]);
  const before = await originRequests();
  const together = await Promise.all([...first, ...second, ...first].map((url) => play(url)));
  expect(await originRequests()).toBe(before + first.length);
  for (const [number, url] of second.entries()) expect((await play(url)).equals(together[number]!)).toBe(true);
  expect(await originRequests()).toBe(before + first.length);
  for (const [number, url] of first.entries())
    expect((await play(at(origin, url))).equals(together[number]!)).toBe(true);

  const [segment] = first;
  const response = await fetch(segment!);
  const direct = await fetch(at(origin, segment!), { method: 'HEAD' });
  for (const name of ['cache-control', 'content-type', 'etag', 'content-length', 'accept-ranges', 'cache-tag'])
    expect([name, response.headers.get(name)]).toEqual([name, direct.headers.get(name)]);
  expect(response.headers.get('cache-tag')).toBe(assetId);
  const whole = Buffer.from(await response.arrayBuffer());
  sentSeconds += secondsOf.get(new URL(segment!).pathname)!;
  const part = await fetch(segment!, { headers: { range: 'bytes=10-19' } });
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, whole.subarray(10, 20)]);
  expect((await fetch(segment!, { headers: { 'if-none-match': response.headers.get('etag')! } })).status).toBe(304);
  const metrics = await (await fetch(edge.metricsUrl!)).text();
  expect(Number(/^kinora_segment_cache_bytes (\d+)$/m.exec(metrics)![1])).toBeGreaterThan(whole.length);
});

it('caches encrypted segments, and passes requests for licenses on', async () => {
  const [first, second] = await Promise.all(
    [600, 700].map((seconds) => segmentsOf(`${edge.url}/${drmId}.m3u8?token=${tokenOf(seconds, { sub: drmId })}`)),
  );
  const before = await originRequests();
  const [one, other] = await Promise.all([first![1]!, second![1]!].map((url) => play(url)));
  expect(one!.equals(other!)).toBe(true);
  const requests = (await originRequests()) - before;
  expect((await play(second![1]!)).equals(await play(at(origin, first![1]!)))).toBe(true);
  // The origin asks its cache for the segment and, when it is encrypted for the first time, for its
  // init segment.
  expect(requests).toBeLessThanOrEqual(2);
  const clear = await segmentsOf(`${edge.url}/${publicId}.m3u8`);
  expect((await play(clear[1]!)).equals(one!)).toBe(false);

  const license = `/license/clearkey/${drmId}?token=${tokenOf(600, { sub: drmId, aud: 'd' })}`;
  const challenge = { method: 'POST', body: JSON.stringify({ kids: [], type: 'temporary' }) };
  expect(await refusalOf(edge.url + license, challenge)).toEqual(await refusalOf(origin.url + license, challenge));
});

it('caches public segments, playlists and images, and sends the player page', async () => {
  const before = await originRequests();
  const segments = await segmentsOf(`${edge.url}/${publicId}.m3u8`);
  await Promise.all([1, 2, 3, 4].map(() => play(segments[0]!)));
  expect(await originRequests()).toBe(before + 1);
  const thumbnail = `/${publicId}/thumbnail.jpg?time=2`;
  expect((await play(edge.url + thumbnail)).equals(await play(origin.url + thumbnail))).toBe(true);
  const page = await fetch(`${edge.url}/${publicId}`, { headers: { accept: 'text/html' } });
  expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  expect(await page.text()).toContain(`/${publicId}.m3u8`);
});

it('refuses what the origin refuses, in the same words, also when it is cached', async () => {
  const [segment] = await signedSegments(edge, 600);
  await play(segment!);
  const [path, query] = segment!.split('?') as [string, string];
  const clipped = await signedSegments(edge, 600, { asset_start_time: 0, asset_end_time: 3 });
  const [, playbackId, plan, rendition] = new URL(segment!).pathname.split('/') as [string, string, string, string];
  const signer = new ChildSigner(EDGE_SECRET);
  const ofNow = { expiresAtSeconds: inSeconds(600), keyId: key.keyId };
  const signedAs = (signed: ChildSigner, grant: Grant) =>
    `${path}?signature=${signed.sign(playbackId, renditionChild(plan, rendition, undefined), grant)}`;
  // What the others differ from.
  await play(signedAs(signer, ofNow));
  const urls = [
    path,
    `${path}?signature=`,
    `${path}?${query.slice(0, -1)}${query.endsWith('A') ? 'B' : 'A'}`,
    `${path}?${query}&segments=0-1`,
    `${path.replace(signedId, publicId).replace(publicId, 'a'.repeat(40))}?${query}`,
    signedAs(signer, { ...ofNow, expiresAtSeconds: inSeconds(-1) }),
    signedAs(signer, { ...ofNow, keyId: 'K'.repeat(40) }),
    signedAs(signer, { ...ofNow, restrictionId: 'R'.repeat(40) }),
    signedAs(new ChildSigner('another-secret-of-32-characters'), ofNow),
    clipped[0]!.replace(/\d+\.m4s/, '2.m4s'),
    segment!.replace(/\/\d+\.m4s/, '/9999.m4s'),
    segment!.replace(/\/\d+\.m4s/, '/x.m4s'),
    segment!.replace(/\/(\d+)\/([^/]+)\/\d+\.m4s/, '/99/$2/0.m4s'),
  ];
  for (const url of urls) {
    const refused = await refusalOf(url);
    expect([url, refused]).toEqual([url, await refusalOf(at(origin, url))]);
    expect((refused as [number])[0]).toBeGreaterThanOrEqual(400);
  }

  const created = await api(origin, 'POST', '/video/v1/playback-restrictions', {
    referrer: { allowed_domains: ['www.example.com'] },
  });
  const { data } = (await created.json()) as { data: { id: string } };
  const page = { referer: 'https://www.example.com/watch', 'user-agent': 'Mozilla/5.0' };
  const [restricted] = await signedSegments(edge, 600, { playback_restriction_id: data.id }, page);
  await play(restricted!, page);
  expect(await refusalOf(restricted!)).toEqual(await refusalOf(at(origin, restricted!)));
  expect((await fetch(restricted!)).status).toBe(403);
});

it('has no API and takes no uploads', async () => {
  const message = 'This server delivers playback only. Send requests to the API and uploads to the server behind it.';
  const error = { error: { type: 'not_found', messages: [message] } };
  for (const [method, path] of [
    ['GET', '/video/v1/assets'],
    ['POST', '/video/v1/assets'],
    ['PUT', '/u/abc'],
    ['GET', '/console'],
    ['POST', '/edge/v1/lookup'],
    ['POST', `/${publicId}.m3u8`],
  ] as const) {
    const response = await fetch(edge.url + path, { method });
    expect([path, response.status, await response.json()]).toEqual([path, 404, error]);
  }
  // Nobody else may ask the origin what edges ask.
  expect((await fetch(`${origin.url}/edge/v1/lookup`, { method: 'POST' })).status).toBe(404);
});

it('starts from the command line, and not with another secret than that of its origin', async () => {
  const options = { ROLES: 'edge', EDGE_SECRET, EDGE_ORIGIN: origin.url };
  const started = await startServer({ dataDir: makeDataDir(), options });
  expect(started.output()).toContain(`Kinora is running as an edge of ${origin.url}.`);
  await segmentsOf(`${started.url}/${publicId}.m3u8`);
  expect(await started.stop()).toBe(0);

  await expect(boot({ options: { ...options, EDGE_SECRET: 'this-is-some-other-secret' } })).rejects.toThrow(
    'set KINORA_EDGE_SECRET to the same value on both',
  );
});

it('reports to the origin what it has sent', async () => {
  const delivered = async (): Promise<number> => {
    const timeframe = `timeframe[]=${inSeconds(-3600)}&timeframe[]=${inSeconds(60)}`;
    const response = await api(origin, 'GET', `/video/v1/delivery-usage?asset_id=${assetId}&${timeframe}`);
    const { data } = (await response.json()) as { data: { delivered_seconds: number }[] };
    return data[0]?.delivered_seconds ?? 0;
  };
  await until('everything is counted', async () => (await delivered()) > sentSeconds - 0.1);
  expect(await delivered()).toBeCloseTo(sentSeconds, 1);
});

it('obeys budgets of the origin, with what it has delivered itself', async () => {
  const [segment, next] = await segmentsOf(`${edge.url}/${publicId}.m3u8`);
  const budget = { asset_id: assetId, period: 'month', seconds: Math.ceil(sentSeconds) + 1, action: 'stop' };
  const created = await api(origin, 'POST', '/video/v1/delivery-budgets', budget);
  const { data } = (await created.json()) as { data: { id: string; status: string } };
  expect(data.status).not.toBe('spent');
  for (let seconds = 0; seconds < 2; seconds += secondsOf.get(new URL(segment!).pathname)!) await play(segment!);
  const stopped = [segment!, next!, `${edge.url}/${publicId}.m3u8`, `${edge.url}/${publicId}.mpd`];
  for (const url of stopped) await until('the edge stops', async () => (await fetch(url)).status === 403);
  expect(await refusalOf(segment!)).toEqual(await refusalOf(at(origin, segment!)));
  expect(((await refusalOf(segment!)) as string[])[1]).toContain('The delivery budget is spent');
  expect((await fetch(`${edge.url}/${publicId}/thumbnail.jpg?time=2`)).status).toBe(200);
  expect((await api(origin, 'DELETE', `/video/v1/delivery-budgets/${data.id}`)).status).toBe(204);
  for (const url of stopped) await until('the edge goes on', async () => (await fetch(url)).status === 200);
});

it('obeys the restriction of public playback IDs', async () => {
  const [segment] = await segmentsOf(`${edge.url}/${publicId}.m3u8`);
  const created = await api(origin, 'POST', '/video/v1/playback-restrictions', {
    referrer: { allowed_domains: ['www.example.com'] },
  });
  const { id } = ((await created.json()) as { data: { id: string } }).data;
  const restrict = (value: string | null) =>
    api(origin, 'PUT', '/video/v1/public-playback-restriction', { playback_restriction_id: value });
  expect((await restrict(id)).status).toBe(200);
  aheadMs += MINUTE_MS;
  const good = { referer: 'https://www.example.com/watch' };
  const thumbnail = `${edge.url}/${publicId}/thumbnail.jpg?time=2`;
  for (let round = 0; round < 2; round++)
    for (const url of [segment!, `${edge.url}/${publicId}.m3u8`, `${edge.url}/${publicId}.mpd`, thumbnail]) {
      const right = await fetch(url, { headers: good });
      expect([url, right.status, right.headers.get('cache-control')]).toEqual([
        url,
        200,
        expect.stringContaining('private'),
      ]);
      for (const headers of [{ referer: 'https://thief.test/' }, undefined])
        expect([url, (await fetch(url, headers && { headers })).status]).toEqual([url, 403]);
    }
  expect(await refusalOf(segment!)).toEqual(await refusalOf(at(origin, segment!)));
  expect((await restrict(null)).status).toBe(200);
  aheadMs += MINUTE_MS;
  expect((await fetch(segment!)).status).toBe(200);
  await play(segment!);
});

it('ends playback within a minute when a key is removed', async () => {
  const former = key;
  const [segment] = await signedSegments(edge, 600);
  await play(segment!);
  key = await createSigningKey(origin);
  expect((await api(origin, 'DELETE', `/system/v1/signing-keys/${former.keyId}`)).status).toBe(204);
  aheadMs += MINUTE_MS;
  expect(await refusalOf(segment!)).toEqual(await refusalOf(at(origin, segment!)));
});

it('plays what is cached while the origin is away', async () => {
  const signed = await signedSegments(edge, 7200);
  for (const url of signed.slice(0, 2)) await play(url);
  const segments = await segmentsOf(`${edge.url}/${publicId}.m3u8`);
  await play(segments[0]!);
  await origin.stop();
  isOriginStopped = true;
  for (const minutes of [1, 4, 5]) {
    aheadMs += minutes * MINUTE_MS;
    await segmentsOf(`${edge.url}/${publicId}.m3u8`);
    for (const url of [...signed.slice(0, 2), segments[0]!]) await play(url);
  }
  const [path] = signed[0]!.split('?');
  expect((await fetch(path!)).status).toBe(403);
  const ready = await fetch(`${edge.url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'degraded', failed: ['origin'] }]);
  for (const url of [
    `${edge.url}/${publicId}/thumbnail.jpg?time=3`,
    `${edge.url}/${signedId}.m3u8?token=${tokenOf(60)}`,
  ]) {
    const missing = await fetch(url);
    expect([missing.status, Number(missing.headers.get('retry-after')) > 0]).toEqual([503, true]);
  }
});
