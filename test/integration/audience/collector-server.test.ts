import { afterAll, expect, it } from 'vitest';
import { openDatabase } from '#kinora/db/open-database.js';
import type { Row } from '#kinora/db/schema.js';
import { systemClock } from '#kinora/lib/clock.js';
import { newId } from '#kinora/lib/ids.js';
import { quietLogger } from '../../support/logger.js';
import { boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { beaconOf, type EventFields, ReportingPlayer, sendBeacon } from '../../support/wire/beacons.js';
import { api } from '../../support/wire/create-asset.js';

afterAll(cleanUpServers);

type Server = Pick<ServerProcess, 'url' | 'token'>;

const environmentOf = async (server: Server): Promise<string> =>
  (await (await api(server, 'GET', '/system/v1/whoami')).json()).data.environment_id;

const report = async (server: Server, ...events: EventFields[]): Promise<void> => {
  expect((await sendBeacon(server.url, beaconOf(events))).status).toBe(200);
};

/** The rows of a server that has stopped. */
const readViews = async (dataDir: string): Promise<Row<'video_view'>[]> => {
  const database = await openDatabase({ dataDir, logger: quietLogger });
  const rows = await database.queryable.selectFrom('video_view').selectAll().orderBy('id').execute();
  await database.close();
  return rows;
};

it('kill -9 loses what was not written, and the end of a view repairs it', async () => {
  const dataDir = makeDataDir();
  let server = await startServer({ dataDir });
  const environmentId = await environmentOf(server);
  // Longer ago than anybody watches.
  const startMs = Date.now() - 60_000;
  const [written, lost] = ['written', 'lost'].map((id) => new ReportingPlayer(environmentId, id));
  const start = { view_start: startMs, video_title: 'A film', view_time_to_first_frame: 250 };
  await report(server, written!.event('viewstart', start));
  const viewers = async () => (await (await api(server, 'GET', '/data/v1/overview')).json()).data;
  await until('the first view is written', async () => JSON.stringify(await viewers()).includes('"views":1'));
  await report(server, lost!.event('viewstart', start), lost!.event('playing'));
  await report(server, written!.event('playing', { view_watch_time: 1000 }));
  await server.kill();

  server = await startServer({ dataDir });
  await report(server, written!.event('hb', { view_watch_time: 20_000 }));
  await report(server, lost!.event('viewend', { ...start, view_watch_time: 30_000 }));
  // The stop writes what waits.
  expect(await server.stop()).toBe(0);
  const [lostView, writtenView, ...others] = await readViews(dataDir);
  expect(others).toEqual([]);
  expect(writtenView).toMatchObject({
    ...{ id: 'written', started_at: new Date(startMs), watch_time: 20_000, ended_at: null },
    dimensions: { video_title: 'A film' },
  });
  expect(lostView).toMatchObject({
    ...{ id: 'lost', started_at: new Date(startMs), watch_time: 30_000, video_startup_time: 250 },
    dimensions: { video_title: 'A film' },
  });
  expect(lostView!.events.map(([name]) => name)).toEqual(['viewend']);
});

it('an edge passes reports to its origin, with the address of the viewer', async () => {
  const secret = { EDGE_SECRET: 'a-secret-that-both-of-them-know' };
  const dataDir = await makeTestDataDir();
  const options = { ...secret, TRUSTED_PROXIES: '127.0.0.1', COUNTRY_HEADER: 'X-Country' };
  // Both forget little of a flood, however long a busy machine takes to send it.
  const clock = { now: systemClock.now, monotonicMs: () => systemClock.monotonicMs() / 1000 };
  const origin = await boot({ dataDir, clock, options });
  const edge = await boot({
    clock,
    options: { ...secret, ROLES: 'edge', EDGE_ORIGIN: origin.url, TRUSTED_PROXIES: '127.0.0.1' },
  });
  const environmentId = await environmentOf(origin);
  const body = beaconOf([
    new ReportingPlayer(environmentId, 'through an edge'.replaceAll(' ', '-')).event('viewstart', {
      page_url: `https://example.org/${'x'.repeat(100_000)}`,
    }),
  ]);
  const headers = { 'x-forwarded-for': '203.0.113.9', 'x-country': 'FR' };
  const response = await sendBeacon(edge.url, body, headers);
  expect(response.status).toBe(200);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const large = await sendBeacon(edge.url, 'x'.repeat(600 * 1024));
  expect([large.status, (await sendBeacon(edge.url, '{')).status]).toEqual([413, 400]);
  expect((await fetch(`${edge.url}/video/v1/assets`, { method: 'POST' })).status).toBe(404);

  // Each viewer has a limit of their own.
  const statuses = new Set<number>();
  for (let i = 0; i < 22; i++) {
    const responses = await Promise.all(Array.from({ length: 50 }, () => sendBeacon(edge.url, '{}', headers)));
    for (const { status } of responses) statuses.add(status);
  }
  expect([...statuses].toSorted()).toEqual([400, 429]);
  expect((await sendBeacon(edge.url, body, { 'x-forwarded-for': '203.0.113.10' })).status).toBe(200);
  await Promise.all([edge.stop(), origin.stop()]);
  expect(await readViews(dataDir)).toMatchObject([{ id: 'through-an-edge', dimensions: { country: 'FR' } }]);
});

it('views of an asset are deleted on request, and only those of the own environment', async () => {
  const dataDir = await makeTestDataDir();
  const server = await boot({ dataDir });
  const environmentId = await environmentOf(server);
  const assetId = newId();
  const deleteViews = async (query: string): Promise<number> =>
    (await api(server, 'DELETE', `/data/v1/video-views${query}`)).status;
  expect([await deleteViews(''), await deleteViews('?asset_id='), await deleteViews('?asset_id=x')]).toEqual([
    ...[400, 400, 400],
  ]);
  expect(await deleteViews(`?asset_id=${assetId}`)).toBe(204);
  await server.stop();

  const database = await openDatabase({ dataDir, logger: quietLogger });
  const now = new Date();
  const other = { id: 'other1', name: 'another one', type: 'production' } as const;
  await database.queryable.insertInto('environment').values(other).execute();
  const sums = { views: 1, watch_ms: 0, playing_ms: 0, rebuffers: 0, rebuffer_ms: 0, startups: 0, startup_ms: 0 };
  const noFailures = { startup_failures: 0, playback_failures: 0, exits: 0 };
  for (const environment of [environmentId, other.id]) {
    for (const [dimension, value] of [
      ['', ''],
      ['asset_id', assetId],
    ] as const) {
      const row = { environment_id: environment, period: 'day', start: now, dimension, value } as const;
      await database.queryable
        .insertInto('view_rollup')
        .values({ ...row, ...sums, ...noFailures })
        .execute();
    }
    for (const [id, asset] of [
      ['of the asset', assetId],
      ['of another', newId()],
    ] as const) {
      const row = { environment_id: environment, id, asset_id: asset, started_at: now, seen_at: now };
      const empty = { dimensions: '{}', details: '{}', ranges: '[]', events: '[]' };
      await database.queryable
        .insertInto('video_view')
        .values({ ...row, ...empty })
        .execute();
    }
  }
  await database.close();

  const again = await boot({ dataDir, token: server.token });
  expect((await api(again, 'DELETE', `/data/v1/video-views?asset_id=${assetId}`)).status).toBe(204);
  await again.stop();
  const reopened = await openDatabase({ dataDir, logger: quietLogger });
  const views = await reopened.queryable.selectFrom('video_view').select(['environment_id', 'id']).execute();
  const rollups = await reopened.queryable.selectFrom('view_rollup').select(['environment_id', 'dimension']).execute();
  await reopened.close();
  const left = (environment: string, list: readonly { readonly environment_id: string }[]): number =>
    list.filter((row) => row.environment_id === environment).length;
  expect([left(environmentId, views), left(environmentId, rollups)]).toEqual([1, 1]);
  expect([left(other.id, views), left(other.id, rollups)]).toEqual([2, 2]);
});
