import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { createMetricsApp } from '#kinora/http/ops/metrics.js';
import { newUuid } from '#kinora/lib/ids.js';
import { mediaPriority } from '#kinora/pool/media-pool.js';
import type { AudioChunkJob } from '#kinora/pool/protocol.js';
import { Metrics } from '#kinora/telemetry/metrics.js';
import { quietLogger } from '../../support/logger.js';
import { fixture } from '../../support/media/fixtures.js';
import { startHostilePool } from '../../support/processes/hostile-pool.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { openTestDatabase } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;

beforeAll(async () => {
  server = await boot({ options: { METRICS_PORT: '0', MEDIA_PROCESSES: '1' } });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

type Series = Record<string, number>;

/** `name{labels}` -> value, as a monitoring server reads them. */
const scrape = async (): Promise<Series> => {
  const response = await fetch(server.metricsUrl!);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return readSeries(await response.text());
};

const readSeries = (text: string): Series => {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^(\S+?(?:\{.*\})?) (\S+)$/.exec(line)!;
      return [name, Number(value)];
    }),
  );
};

/** Answers are counted when they have been sent, a moment after they arrived. */
const scrapeUntil = async (isThere: (series: Series) => boolean): Promise<Series> => {
  const until = performance.now() + 30_000;
  for (;;) {
    const series = await scrape();
    if (isThere(series) || performance.now() > until) return series;
  }
};

const waiting = async (database: Database) => {
  const metrics = new Metrics();
  const app = createMetricsApp({
    metrics,
    database,
    cacheBytes: () => 7,
    freeBytes: async () => 5,
    logger: quietLogger,
  });
  const { payload } = await app.inject('/metrics');
  await app.close();
  return readSeries(payload);
};

const requests = (method: string, route: string, status: number) =>
  `kinora_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;

it('answers on its own port only, without credentials', async () => {
  expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
  const { origin: metricsOrigin } = new URL(server.metricsUrl!);
  expect((await fetch(`${metricsOrigin}/video/v1/assets`)).status).toBe(404);
  const series = await scrape();
  expect(series.process_resident_memory_bytes).toBeGreaterThan(1e6);
  expect(series).toHaveProperty('nodejs_eventloop_lag_seconds');
  expect(series).toMatchObject({
    kinora_uploads_in_flight: 0,
    'kinora_segment_requests_total{cache="hit"}': 0,
    'kinora_segment_requests_total{cache="miss"}': 0,
  });
});

it('tells of requests, jobs, the cache and the speed of media work', async () => {
  origin = await serveFiles([await fixture('h264-aac-22050.mp4')]);
  const asset = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
  expect((await settled(server, asset.id)).status).toBe('ready');
  await api(server, 'GET', '/video/v1/assets/unknown');

  const playbackId = asset.playback_ids![0]!.id;
  const lines = async (address: string) =>
    (await (await fetch(new URL(address, `${server.url}/`))).text()).split('\n').filter((line) => /^[^#]/.test(line));
  const [playlist] = await lines(`/${playbackId}.m3u8`);
  const [segment] = await lines(`/${playlist}`);
  const address = new URL(segment!, `${server.url}/${playlist}`).href;
  for (let i = 0; i < 3; i++) await (await fetch(address)).arrayBuffer();

  // Of the same rendition, far from the start: nobody has made it yet.
  const last = (await lines(`/${playlist}`)).at(-1)!;
  expect(last).not.toBe(segment);
  await (await fetch(new URL(last, address))).arrayBuffer();

  const segmentRoute = requests('GET', '/:playbackId/:plan/:rendition/:file', 200);
  const series = await scrapeUntil((seen) => (seen[segmentRoute] ?? 0) >= 6);
  expect(series[requests('POST', '/video/v1/assets', 201)]).toBe(1);
  expect(series[requests('GET', '/video/v1/assets/:assetId', 404)]).toBe(1);
  expect(series[requests('GET', '/:name', 200)]).toBe(1);
  expect(series[segmentRoute]).toBe(6);
  expect(Object.keys(series).filter((name) => name.includes(asset.id) || name.includes(playbackId))).toEqual([]);

  // Made at ingest, so that the first viewer's first segment is there.
  expect(series['kinora_segment_requests_total{cache="hit"}']).toBe(3);
  expect(series['kinora_segment_requests_total{cache="miss"}']).toBe(1);
  expect(series.kinora_segment_wait_seconds_count).toBe(1);
  expect(series.kinora_segment_wait_seconds_sum).toBeGreaterThan(0);
  expect(series.kinora_segment_cache_bytes).toBeGreaterThan(1000);
  expect(series.kinora_data_free_bytes).toBeGreaterThan(1e6);
  expect(series['kinora_jobs_ended_total{queue="ingest",end="done"}']).toBe(1);
  const made = Object.keys(series).filter((name) => name.startsWith('kinora_media_real_time_factor_count'));
  expect(made).toEqual(expect.arrayContaining(['kinora_media_real_time_factor_count{kind="audio"}']));
  expect(made.length).toBeGreaterThanOrEqual(2);
  expect(series['kinora_media_real_time_factor_sum{kind="audio"}']).toBeGreaterThan(0);
});

it('counts uploads while their file is being sent', async () => {
  const created = await (await api(server, 'POST', '/video/v1/uploads', {})).json();
  const { url } = created.data as { url: string };
  let send: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      send = controller;
      controller.enqueue(new Uint8Array(1000));
    },
  });
  const sent = fetch(url, { method: 'PUT', body, duplex: 'half' } as RequestInit & { duplex: 'half' });
  const during = await scrapeUntil((series) => series.kinora_uploads_in_flight === 1);
  expect(during.kinora_uploads_in_flight).toBe(1);
  send!.close();
  expect((await sent).status).toBe(200);
  const after = await scrapeUntil((series) => series.kinora_uploads_in_flight === 0);
  expect(after.kinora_uploads_in_flight).toBe(0);
});

it('tells of waiting jobs and late deliveries as they are now', async () => {
  const { database, close } = await openTestDatabase();
  try {
    const figures = await waiting(database);
    expect(figures.kinora_webhook_lag_seconds).toBe(0);
    expect(figures.kinora_segment_cache_bytes).toBe(7);
    expect(figures.kinora_data_free_bytes).toBe(5);
    expect(Object.keys(figures).filter((name) => name.startsWith('kinora_job'))).toEqual([]);

    const db = database.queryable;
    const now = Date.now();
    const job = { queue: 'ingest', payload: '{}', max_attempts: 5 };
    await db
      .insertInto('job')
      .values([
        { ...job, run_at: new Date(now - 90_000) },
        { ...job, run_at: new Date(now + 3_600_000) },
        { ...job, queue: 'purge', run_at: new Date(now + 3_600_000) },
        { ...job, state: 'active', worker: 'w', lease_until: new Date(now + 60_000) },
        { ...job, state: 'done', finished_at: new Date(now) },
      ])
      .execute();
    const environment_id = 'abc123';
    await db.insertInto('environment').values({ id: environment_id, name: 'e', type: 'development' }).execute();
    await db
      .insertInto('webhook')
      .values({ id: 'w1', environment_id, address: 'https://a.example', signing_secret: 's' })
      .execute();
    const event = { environment_id, type: 'video.asset.ready', object_type: 'asset', object_id: 'a', body: '{}' };
    for (const [state, ageMs] of [
      ['succeeded', 900_000],
      ['pending', 60_000],
      ['pending', 30_000],
    ] as const) {
      const created_at = new Date(now - ageMs);
      const event_id = newUuid();
      await db
        .insertInto('event')
        .values({ ...event, id: event_id, created_at })
        .execute();
      await db
        .insertInto('webhook_delivery')
        .values({
          id: newUuid(),
          webhook_id: 'w1',
          event_id,
          object_id: 'a',
          created_at,
          next_attempt_at: created_at,
          state,
        })
        .execute();
    }

    const later = await waiting(database);
    expect(later['kinora_jobs{queue="ingest",state="queued"}']).toBe(2);
    expect(later['kinora_jobs{queue="ingest",state="active"}']).toBe(1);
    expect(later['kinora_jobs{queue="purge",state="queued"}']).toBe(1);
    expect(later['kinora_job_oldest_seconds{queue="ingest"}']).toBeGreaterThanOrEqual(89);
    expect(later['kinora_job_oldest_seconds{queue="ingest"}']).toBeLessThan(3600);
    expect(later['kinora_job_oldest_seconds{queue="purge"}']).toBe(0);
    expect(later.kinora_webhook_lag_seconds).toBeGreaterThanOrEqual(59);
    expect(later.kinora_webhook_lag_seconds).toBeLessThan(900);
  } finally {
    await close();
  }
});

it('still tells the rest when the database is unavailable', async () => {
  const { database, close } = await openTestDatabase();
  await close();
  const figures = await waiting(database);
  expect(figures.kinora_segment_cache_bytes).toBe(7);
  expect(figures.process_resident_memory_bytes).toBeGreaterThan(1e6);
  expect(figures).not.toHaveProperty('kinora_webhook_lag_seconds');
});

it('tells how much media waits for a process', async () => {
  const metrics = new Metrics();
  const { pool, run, stop } = await startHostilePool({ metrics, size: 1 });
  const ends = new AbortController();
  const { signal } = ends;
  const spinning = run('spin:600000', { signal });
  const chunk = {
    kind: 'audio-chunk',
    boundaries: [10, 475],
    audio: { sampleRate: 48_000 },
  } as unknown as AudioChunkJob;
  const waitingFor = pool.run(chunk, { priority: mediaPriority.readAhead, signal });
  try {
    const series = readSeries(await metrics.read());
    expect(series['kinora_media_waiting_seconds{priority="viewer"}']).toBe(0);
    expect(series['kinora_media_waiting_seconds{priority="readAhead"}']).toBeCloseTo((465 * 1024) / 48_000);
  } finally {
    ends.abort();
    await Promise.allSettled([spinning, waitingFor]);
    await stop();
  }
});

it('counts lost media processes, and is ready as long as another one comes', async () => {
  expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ok' });
  const metrics = new Metrics();
  const { pool, run, stop } = await startHostilePool({ metrics });
  try {
    await expect(run('crash')).rejects.toThrow('The media process crashed');
    // It was tried once more before it counted as a crash.
    expect(readSeries(await metrics.read())['kinora_media_process_restarts_total{job="probe"}']).toBe(2);
    await pool.check();
  } finally {
    await stop();
  }
  await expect(pool.check()).rejects.toThrow();
});
