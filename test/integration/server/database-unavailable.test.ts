import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#kinora/lib/clock.js';
import { fixture } from '../../support/media/fixtures.js';
import { inSeconds, signToken } from '../../support/players/playback-token.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type CutProxy, startCutProxy } from '../../support/servers/cut-proxy.js';
import type { Origin } from '../../support/servers/origin.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { until } from '../../support/servers/server-process.js';
import { statementsOf } from '../../support/statements.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { expectError } from '../../support/wire/expect-error.js';
import type { WireUpload } from '../../support/wire/uploading.js';

const MINUTE_MS = 60_000;

describe.skipIf(!hasPostgres())('a server whose PostgreSQL is away', () => {
  let postgres: TestPostgres;
  let databaseUrl: string;
  let network: CutProxy;
  let server: Booted;
  let origin: Origin;
  let file: Buffer;
  let publicId: string;
  let signedId: string;
  let otherId: string;
  let keyId: string;
  let query: string;
  let upload: WireUpload;
  let aheadMs = 0;
  const clock = { now: systemClock.now, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
  /** Of video segments that were served whole. */
  let servedSeconds = 0;
  const secondsOf = new Map<string, number>();

  beforeAll(async () => {
    postgres = await startPostgres();
    databaseUrl = await postgres.createDatabase('away');
    network = await startCutProxy(Number(new URL(databaseUrl).port));
    // An AV1 ladder would change the asset, which is not served then before it is read again.
    const options = { DATABASE_URL: behindNetwork(databaseUrl), AV1_AFTER: 'never' };
    server = await boot({ options, clock });
    const path = await fixture('marks-30.mp4');
    file = await readFile(path);
    origin = await serveFiles([path]);
    const create = async (policies: string[]) => {
      const body = { inputs: [{ url: `${origin.url}/0` }], playback_policies: policies };
      const { id } = await createAsset(server, body);
      const asset = await settled(server, id);
      expect(asset.status).toBe('ready');
      return Object.fromEntries(asset.playback_ids!.map((playback) => [playback.policy, playback.id]));
    };
    const ids = await create(['public', 'signed']);
    publicId = ids.public!;
    signedId = ids.signed!;
    otherId = (await create(['public'])).public!;
    const key = (await (await api(server, 'POST', '/system/v1/signing-keys')).json()) as {
      data: { id: string; private_key: string };
    };
    keyId = key.data.id;
    const claims = { sub: signedId, aud: 'v', exp: inSeconds(7200), kid: keyId };
    query = `?token=${signToken({ keyId, keySecret: key.data.private_key }, claims)}`;
    upload = ((await (await api(server, 'POST', '/video/v1/uploads', {})).json()) as { data: WireUpload }).data;
  });
  afterAll(async () => {
    await server?.stop();
    await origin?.stop();
    await network?.stop();
    await postgres?.stop();
  });

  const behindNetwork = (url: string) => url.replace(/:\d+\//, `:${new URL(network.url).port}/`);
  const get = async (path: string): Promise<string> => {
    const response = await fetch(new URL(path, server.url));
    const body = await response.text();
    expect([response.status, path, response.ok ? '' : body]).toEqual([200, path, '']);
    return body;
  };
  const linesOf = (playlist: string, base: string): string[] =>
    playlist
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => new URL(line, new URL(base, server.url)).href);
  /** URLs of the segments of the first rendition. */
  const openPlayback = async (path: string): Promise<string[]> => {
    const [rendition] = linesOf(await get(path), path);
    const playlist = await get(rendition!);
    const urls = linesOf(playlist, rendition!);
    const durations = [...playlist.matchAll(/#EXTINF:([\d.]+)/g)].map(([, seconds]) => Number(seconds));
    for (const [at, url] of urls.entries()) secondsOf.set(url, durations[at]!);
    return urls;
  };
  const playSegment = async (url: string): Promise<void> => {
    await get(url);
    servedSeconds += secondsOf.get(url)!;
  };
  const putChunk = (start: number, end: number): Promise<Response> =>
    fetch(upload.url!, {
      method: 'PUT',
      headers: { 'content-range': `bytes ${start}-${end - 1}/${file.length}` },
      body: new Uint8Array(file.subarray(start, end)),
    });
  const readiness = async (): Promise<[number, unknown]> => {
    const response = await fetch(`${server.url}/readyz`);
    return [response.status, await response.json()];
  };
  const isOk = (body: unknown): boolean => (body as { status: string }).status === 'ok';
  const run = async (sql: string, values: unknown[]): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      return await client.query(sql, values);
    } finally {
      await client.end();
    }
  };

  it('sends at most one statement for 1,000 segments', async () => {
    const [segment] = await openPlayback(`/${publicId}.m3u8`);
    const [signedSegment] = await openPlayback(`/${signedId}.m3u8${query}`);
    await Promise.all([playSegment(segment!), playSegment(signedSegment!)]);
    const startedMs = performance.now();
    const statements = await statementsOf(async () => {
      for (let round = 0; round < 40; round++)
        await Promise.all(Array.from({ length: 25 }, () => [segment!, signedSegment!].map(playSegment)).flat());
    });
    const seconds = (performance.now() - startedMs) / 1000;
    const count = (pattern: RegExp) => statements.filter((text) => pattern.test(text)).length;
    // Jobs, webhooks and leases work beside it. Playback IDs and keys are read every half a minute.
    const allowed = 2 + 2 * Math.floor(seconds / 30);
    expect(count(/playback_id|asset_media|signing_key|restriction/)).toBeLessThanOrEqual(allowed);
    expect(count(/insert into delivery_usage.*jsonb_to_recordset/s)).toBeLessThanOrEqual(2 + seconds / 5);
  });

  it('plays what it knows, and answers 503 to everything that needs the database', async () => {
    const segments = await openPlayback(`/${publicId}.m3u8`);
    const signedSegments = await openPlayback(`/${signedId}.m3u8${query}`);
    await playSegment(segments[0]!);
    await playSegment(signedSegments[0]!);
    await get(`/${publicId}/thumbnail.jpg?time=1`);
    const chunk = 256 * 1024;
    expect((await putChunk(0, chunk)).status).toBe(308);

    await postgres.halt();
    expect(await readiness()).toEqual([200, { status: 'degraded', failed: ['database'] }]);
    for (const minute of [1, 4, 7, 10]) {
      aheadMs += (minute === 1 ? 1 : 3) * MINUTE_MS;
      await openPlayback(`/${publicId}.m3u8`);
      await openPlayback(`/${signedId}.m3u8${query}`);
      // In the cache, and made now.
      for (const url of [segments[0]!, signedSegments[0]!, segments[minute % segments.length]!]) await playSegment(url);
      await get(`/${publicId}/thumbnail.jpg?time=1`);
      await get(`/${publicId}/thumbnail.jpg?time=${minute / 2}`);
      await get(`/${publicId}.mpd`);
    }
    expect(await readiness()).toEqual([200, { status: 'degraded', failed: ['database'] }]);

    const response = await api(server, 'GET', '/video/v1/assets');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectError(response, 503, 'unavailable', ['Service temporarily unavailable']);
    const refused = await putChunk(chunk, 2 * chunk);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
    // An ID that nobody has requested here.
    const unknown = await fetch(`${server.url}/${otherId}.m3u8`);
    expect([unknown.status, Number(unknown.headers.get('retry-after')) > 0]).toEqual([503, true]);

    aheadMs += 6 * MINUTE_MS;
    expect((await fetch(segments[0]!)).status).toBe(503);
    expect(await readiness()).toEqual([503, { status: 'unavailable', failed: ['database'] }]);
  });

  it('goes on when it is back, and writes what was delivered', async () => {
    await postgres.resume();
    await until('it plays again', async () => (await fetch(`${server.url}/${publicId}.m3u8`)).status === 200);
    await openPlayback(`/${otherId}.m3u8`);
    expect((await readiness())[0]).toBe(200);
    const held = await fetch(upload.url!, { method: 'PUT', headers: { 'content-range': `bytes */${file.length}` } });
    expect(held.status).toBe(308);
    const start = Number(/-(\d+)/.exec(held.headers.get('range')!)![1]) + 1;
    expect((await putChunk(start, file.length)).status).toBe(200);

    const usage = async () =>
      Number((await run('select coalesce(sum(delivered_seconds), 0) as sum from delivery_usage', [])).rows[0].sum);
    await until('all segments are counted', async () => (await usage()) > servedSeconds - 0.1);
    expect(await usage()).toBeCloseTo(servedSeconds, 1);
  });

  it('does not wait for a database that is silent', async () => {
    const segments = await openPlayback(`/${signedId}.m3u8${query}`);
    const cut = network.breakAfter(0);
    aheadMs += MINUTE_MS;
    await openPlayback(`/${publicId}.m3u8`);
    await cut;
    for (let round = 0; round < 20; round++) {
      aheadMs += 20_000;
      await openPlayback(`/${publicId}.m3u8`);
      await openPlayback(`/${signedId}.m3u8${query}`);
      for (const segment of segments) await playSegment(segment);
    }
    network.restore();
    await until('the database is back', async () => (await fetch(`${server.url}/readyz`)).json().then(isOk));
  });

  it('answers 503 instead of waiting for a database whose connections are open but silent, and stops', async () => {
    const segments = await openPlayback(`/${publicId}.m3u8`);
    const url = behindNetwork(await postgres.createDatabase('other'));
    const other = await boot({ options: { DATABASE_URL: url, SHUTDOWN_LIMIT: '2s' } });
    network.freeze();
    const asked = api(server, 'GET', '/video/v1/assets');
    aheadMs += MINUTE_MS;
    await openPlayback(`/${publicId}.m3u8`);
    for (const segment of segments) await playSegment(segment);
    await expectError(await asked, 503, 'unavailable', ['Service temporarily unavailable']);
    await other.stop();
    network.restore();
    await until('the database is back', async () => (await fetch(`${server.url}/readyz`)).json().then(isOk));
    await until('the API answers', async () => (await api(server, 'GET', '/video/v1/assets')).status === 200);
  });

  it('sees at once what another server has changed, also while it was away', async () => {
    const [segment] = await openPlayback(`/${signedId}.m3u8${query}`);
    expect((await fetch(segment!)).status).toBe(200);
    // The clock does not move: only the announcement can tell.
    await run('delete from playback_id where id = $1', [otherId]);
    await until('the playback ID is gone', async () => (await fetch(`${server.url}/${otherId}.m3u8`)).status === 404);

    await postgres.halt();
    expect((await fetch(segment!)).status).toBe(200);
    // A definite answer is not overruled.
    expect((await fetch(`${server.url}/${otherId}.m3u8`)).status).toBe(503);
    await postgres.resume();
    await run('delete from signing_key where id = $1', [keyId]);
    await until('the signature is refused', async () => (await fetch(segment!)).status === 403);
  });
});
