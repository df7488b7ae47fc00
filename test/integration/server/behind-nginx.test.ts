import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { inSeconds, signToken } from '../../support/players/playback-token.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { freePort } from '../../support/servers/free-port.js';
import { type Nginx, nginxPath, startNginx } from '../../support/servers/nginx.js';
import { api, settled, type WireAsset } from '../../support/wire/create-asset.js';
import type { WireUpload } from '../../support/wire/uploading.js';

let server: Booted;
let nginx: Nginx;
let file: Buffer;
let publicId: string;
let isStopped = false;
/** The server as clients see it. */
let front: { url: string; token: Booted['token'] };

beforeAll(async () => {
  // Larger than what nginx takes by default.
  file = readFileSync(await fixture('copy-1080p.mp4'));
  const [port, ownPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  server = await boot({
    options: {
      PORT: String(ownPort),
      PUBLIC_URL: url,
      TRUSTED_PROXIES: '127.0.0.1/32',
      METRICS_PORT: '0',
      CACHE_TAG: 'Cache-Tag',
    },
  });
  if (nginxPath) nginx = await startNginx(port, `http://127.0.0.1:${ownPort}`);
  front = { url, token: server.token };
});
afterAll(async () => {
  await nginx?.stop();
  if (!isStopped) await server?.stop();
});

const dataOf = async <T>(response: Response): Promise<T> => {
  expect(response.ok, `${response.status}`).toBe(true);
  return ((await response.json()) as { data: T }).data;
};
const newUpload = async (policy: string): Promise<WireUpload> =>
  dataOf(await api(front, 'POST', '/video/v1/uploads', { new_asset_settings: { playback_policies: [policy] } }));
const assetOf = async ({ id }: WireUpload): Promise<WireAsset> => {
  const { asset_id } = await dataOf<WireUpload>(await api(front, 'GET', `/video/v1/uploads/${id}`));
  const asset = await settled(front, asset_id!);
  expect(asset.status).toBe('ready');
  return asset;
};
const cacheOf = (response: Response): string | null => response.headers.get('x-cache-status');
const metrics = async (): Promise<string> => (await fetch(server.metricsUrl!)).text();
const segmentRequests = async (): Promise<number> =>
  [...(await metrics()).matchAll(/^kinora_segment_requests_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
const linesOf = async (playlist: string): Promise<string[]> => {
  const response = await fetch(playlist);
  expect(response.status).toBe(200);
  return (await response.text()).split('\n').flatMap((line) => {
    return line === '' || line.startsWith('#') ? [] : [new URL(line, playlist).href];
  });
};
/** URLs of the media segments of the first rendition. */
const segmentsOf = async (multivariant: string): Promise<string[]> => linesOf((await linesOf(multivariant))[0]!);

describe.skipIf(nginxPath === undefined)('behind nginx with the shipped configuration', () => {
  let assetId: string;
  let signedId: string;

  it('takes an upload in one request', async () => {
    const upload = await newUpload('public');
    expect(upload.url).toContain(`${front.url}/u/`);
    expect((await fetch(upload.url!, { method: 'PUT', body: new Uint8Array(file) })).status).toBe(200);
    const asset = await assetOf(upload);
    assetId = asset.id;
    publicId = asset.playback_ids![0]!.id;
  });

  it('takes an upload over tus, in two parts', async () => {
    const upload = await newUpload('signed');
    const url = upload.url!.replace('/u/', '/tus/');
    const headers = { 'tus-resumable': '1.0.0' };
    const half = Math.floor(file.length / 2);
    const type = { 'content-type': 'application/offset+octet-stream' };
    const first = await fetch(url, {
      method: 'PATCH',
      headers: { ...headers, ...type, 'upload-offset': '0', 'upload-length': String(file.length) },
      body: new Uint8Array(file.subarray(0, half)),
    });
    expect([first.status, first.headers.get('upload-offset')]).toEqual([204, String(half)]);
    const offset = (await fetch(url, { method: 'HEAD', headers })).headers.get('upload-offset')!;
    const second = await fetch(url, {
      method: 'PATCH',
      headers: { ...headers, ...type, 'upload-offset': offset },
      body: new Uint8Array(file.subarray(Number(offset))),
    });
    expect([second.status, second.headers.get('upload-offset')]).toEqual([204, String(file.length)]);
    signedId = (await assetOf(upload)).playback_ids![0]!.id;
  });

  it('asks the server once for a segment that many viewers request', async () => {
    const segments = await segmentsOf(`${front.url}/${publicId}.m3u8`);
    const before = await segmentRequests();
    const responses = await Promise.all([1, 2, 3, 4, 5].map(() => fetch(segments[0]!)));
    const bodies = await Promise.all(responses.map(async (response) => Buffer.from(await response.arrayBuffer())));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(responses.map(cacheOf).sort()).toEqual(['HIT', 'HIT', 'HIT', 'HIT', 'MISS']);
    expect(new Set(bodies.map((body) => body.toString('latin1'))).size).toBe(1);
    expect(await segmentRequests()).toBe(before + 1);

    const range = await fetch(segments[0]!, { headers: { range: 'bytes=100-299' } });
    expect([range.status, cacheOf(range)]).toEqual([206, 'HIT']);
    expect(Buffer.from(await range.arrayBuffer()).equals(bodies[0]!.subarray(100, 300))).toBe(true);
    const unchanged = await fetch(segments[0]!, { headers: { 'if-none-match': responses[0]!.headers.get('etag')! } });
    expect(unchanged.status).toBe(304);
    expect(await segmentRequests()).toBe(before + 1);
  });

  it('keeps images and playlists of renditions, but no multivariant playlist and no answer of the API', async () => {
    const [rendition] = await linesOf(`${front.url}/${publicId}.m3u8`);
    // Another host is another key.
    for (const url of [`${front.url}/${publicId}/thumbnail.jpg?time=0`, rendition!.replace('127.0.0.1', 'localhost')]) {
      const made = await fetch(url);
      expect([made.status, cacheOf(made), made.headers.get('cache-tag')]).toEqual([200, 'MISS', assetId]);
      const kept = await fetch(url);
      expect([cacheOf(kept), kept.headers.get('cache-tag')]).toEqual(['HIT', assetId]);
    }
    for (const url of [`${front.url}/${publicId}.m3u8`, `${front.url}/healthz`]) {
      await fetch(url);
      expect(cacheOf(await fetch(url))).not.toBe('HIT');
    }
    expect(cacheOf(await api(front, 'GET', '/video/v1/assets'))).toBeNull();
  });

  it('never keeps what needs a token', async () => {
    const key = await dataOf<{ id: string; private_key: string }>(await api(front, 'POST', '/system/v1/signing-keys'));
    const token = signToken(
      { keyId: key.id, keySecret: key.private_key },
      { sub: signedId, aud: 'v', exp: inSeconds(600), kid: key.id },
      { alg: 'RS256', typ: 'JWT', kid: key.id },
    );
    const playlist = `${front.url}/${signedId}.m3u8`;
    const segments = await segmentsOf(`${playlist}?token=${token}`);
    expect(segments[0]).toMatch(/signature=/);
    const [rendition] = await linesOf(`${playlist}?token=${token}`);
    for (const _ of [1, 2]) expect(cacheOf(await fetch(rendition!))).toBe('MISS');
    const before = await segmentRequests();
    for (const _ of [1, 2]) {
      const response = await fetch(segments[0]!);
      expect([response.status, cacheOf(response)]).toEqual([200, 'MISS']);
      await response.arrayBuffer();
    }
    expect(await segmentRequests()).toBe(before + 2);
    expect((await fetch(playlist)).status).toBe(403);
    expect((await fetch(segments[0]!.replace(/\?.*/, ''))).status).toBe(403);
  });

  it('logs no query, which holds tokens', async () => {
    const log = nginx.accessLog();
    expect(log).toContain(`GET /${signedId}.m3u8"`);
    expect(log).not.toMatch(/token=|sig=|\?/);
  });
});

describe('monitoring', () => {
  it('uses only metrics that the server has', async () => {
    const text = await metrics();
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]));
    const known = new Set(
      [...types].flatMap(([name, type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
      ),
    );
    for (const path of ['deploy/monitoring/alerts.yml', 'deploy/monitoring/grafana-dashboard.json']) {
      const expressions = readFileSync(path, 'utf8').match(/\b(kinora|process|nodejs)_[a-z0-9_]+(?=[{[ )]|\\"|$)/gm)!;
      expect(expressions.length).toBeGreaterThan(8);
      expect(
        expressions.filter((name) => !known.has(name)),
        path,
      ).toEqual([]);
    }
  });

  it('uses only labels that these metrics have', async () => {
    const labels = new Set([...(await metrics()).matchAll(/[{,](\w+)="/g)].map(([, name]) => name!));
    const grouped = ['deploy/monitoring/alerts.yml', 'deploy/monitoring/grafana-dashboard.json'].flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/by \(([^)]+)\)/g)].flatMap(([, names]) => names!.split(', ')),
    );
    // Prometheus adds the instance, and renames the label `job` because it has one of its own.
    const expected = new Set([...labels, 'instance', 'exported_job']);
    // No queue has waiting jobs now, so their labels are not listed.
    expect(grouped.filter((name) => !expected.has(name) && !['queue', 'state'].includes(name))).toEqual([]);
  });
});

it.skipIf(nginxPath === undefined)('what nginx has cached plays on while the server is away', async () => {
  const [rendition] = await linesOf(`${front.url}/${publicId}.m3u8`);
  const segments = await linesOf(rendition!);
  await (await fetch(segments[0]!)).arrayBuffer();
  await server.stop();
  isStopped = true;
  expect(await linesOf(rendition!)).toEqual(segments);
  const response = await fetch(segments[0]!);
  expect([response.status, cacheOf(response)]).toEqual([200, 'HIT']);
  await response.arrayBuffer();
  expect((await fetch(segments[1]!)).status).toBe(502);
});
