import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedFields } from '#kinora/audience/beacons/beacon-fields.js';
import { ViewCollector } from '#kinora/audience/beacons/view-collector.js';
import type { Database } from '#kinora/db/database.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { insertEnvironment, listEnvironments } from '#kinora/db/tables/server/environment.js';
import { systemClock } from '#kinora/lib/clock.js';
import { newId, newShortId } from '#kinora/lib/ids.js';
import { Metrics } from '#kinora/telemetry/metrics.js';
import { quietLogger } from '../support/logger.js';
import { memoryLogger } from '../support/memory-logger.js';
import { scriptedDatabase } from '../support/scripted-database.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { makeTestDataDir, openTestDatabase } from '../support/servers/database.js';
import { beaconOf, type EventFields, ReportingPlayer, sendBeacon } from '../support/wire/beacons.js';

const noOrigin = { userAgent: undefined, country: undefined };

describe('what the database gets of hostile reports', () => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>;
  let database: Database;
  let environmentId: string;
  let otherId: string;
  beforeAll(async () => {
    opened = await openTestDatabase();
    database = opened.database;
    [environmentId, otherId] = [newShortId(), newShortId()];
    for (const id of [environmentId, otherId])
      await insertEnvironment(database.queryable, { id, name: id, type: 'production' });
  });
  afterAll(() => opened.close());

  const startCollector = (limits: Partial<ConstructorParameters<typeof ViewCollector>[0]> = {}): ViewCollector =>
    new ViewCollector({
      ...{ database, clock: systemClock, logger: quietLogger, metrics: new Metrics() },
      ...{ writeMs: 1_000_000, ...limits },
    });
  const report = (collector: ViewCollector, ...events: EventFields[]): Promise<void> =>
    collector.receive(Buffer.from(beaconOf(events)), noOrigin);
  const countRows = async (): Promise<Record<string, number>> => {
    const { rows: tables } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(database.queryable);
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const { rows } = await sql<{ count: string }>`select count(*) as count from ${sql.table(name)}`.execute(
        database.queryable,
      );
      counts[name] = Number(rows[0]!.count);
    }
    return counts;
  };

  it('is a bounded number of rows, however many views, assets and errors somebody invents', async () => {
    const logger = memoryLogger();
    const before = await countRows();
    const collector = startCollector({ logger, newViews: { perSecond: 1, burst: 1200 } });
    for (let i = 0; i < 10_000; i++) {
      const player = new ReportingPlayer(environmentId, `view-${i}`);
      const fake = { video_id: newId(), video_source_url: `https://h/${newId()}.m3u8`, view_start: Date.now() };
      await report(
        collector,
        player.event('viewstart', fake),
        player.event('error', { player_error_code: i, player_error_message: `error ${i}` }),
      );
    }
    await collector.stop();
    const { video_view: views, view_error: errors, ...others } = await countRows();
    const { video_view: _, view_error: __, ...othersBefore } = before;
    expect(others).toEqual(othersBefore);
    expect(views).toBeGreaterThanOrEqual(1200);
    expect(views).toBeLessThan(2000);
    expect(errors).toBe(1001);
    expect(logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'reports of views lost: too many views at once',
    ]);
  });

  it('is nothing of views whose playback was never requested', async () => {
    const before = await countRows();
    const collector = startCollector();
    for (let i = 0; i < 2000; i++)
      await report(collector, new ReportingPlayer(environmentId, `idle-${i}`).event('playerready'));
    await collector.stop();
    expect(await countRows()).toEqual(before);
  });

  it('waits within bounds while nothing can be written', async () => {
    const collector = startCollector({ maxViews: 100, maxBytes: 200_000 });
    for (let i = 0; i < 1000; i++)
      await report(collector, new ReportingPlayer(otherId, `v-${i}`).event('play', { video_title: 'x'.repeat(1000) }));
    expect(collector.waiting).toBeLessThanOrEqual(100);
    let answer = (_rows: unknown[]): void => undefined;
    const held = new Promise<unknown[]>((resolve) => {
      answer = resolve;
    });
    const queryable = scriptedDatabase((statement) =>
      statement.includes('from "environment"') ? [{ id: otherId }] : held,
    );
    const large = startCollector({ maxBytes: 200_000, database: { ...database, queryable } });
    for (let i = 0; i < 1000; i++)
      await report(large, new ReportingPlayer(otherId, `w-${i}`).event('play', { video_title: 'x'.repeat(1000) }));
    expect(large.waiting).toBeGreaterThan(10);
    expect(large.waiting).toBeLessThan(200);
    answer([]);
    await Promise.all([collector.stop(), large.stop()]);
  });

  it('is a row of bounded size, with text that PostgreSQL can store', async () => {
    const collector = startCollector();
    const player = new ReportingPlayer(otherId, 'bomb');
    const bomb = `\0\ud800"'\\${'💣'.repeat(1000)}`;
    const fields = Object.fromEntries(storedFields.map(([field]) => [field, bomb]));
    const own = { video_playback_range: bomb, viewer_user_id: bomb, view_session_id: bomb };
    const codecs = { video_source_codec: bomb, video_source_rendition_name: bomb };
    for (let i = 0; i < 6; i++) {
      await report(collector, player.event('viewstart', { ...fields, ...own }));
      await report(
        collector,
        ...Array.from({ length: 60 }, (_, j) =>
          player.event('renditionchange', { ...codecs, viewer_time: Date.now() - 1000 * i - j }),
        ),
      );
      await collector.write();
    }
    const { rows } = await sql<{ length: number; title: string }>`
      select length(video_view::text) as length, dimensions ->> 'video_title' as title
      from video_view where environment_id = ${otherId} and id = 'bomb'`.execute(database.queryable);
    expect(rows).toHaveLength(1);
    expect(rows[0]!.title).toMatch(/^"'\\💣+$/u);
    expect(rows[0]!.length).toBeLessThan(500_000);
    await collector.stop();
  });

  it.each([
    ['times far away', { viewer_time: 1e308, view_start: -1e308, view_watch_time: 1e308 }],
    ['no numbers', { viewer_time: 'soon', view_start: [], view_watch_time: {}, player_playhead_time: null }],
    ['numbers that are no integers', { view_rebuffer_count: 2 ** 53, view_seek_count: 1e-300, player_width: 1e300 }],
    ['names of prototypes', { ['__proto__']: { polluted: true }, constructor: 'x', video_title: '__proto__' }],
    ['structures', { video_title: { a: [1] }, video_cdn_trace: [[['x']], 'a', 'b'], custom_1: ['x'] }],
    ['ranges of nonsense', { video_playback_range: '["9:1","-1:2","99999999999:1","1:2"' }],
  ])('is one sound row of %s', async (name, fields) => {
    const collector = startCollector();
    const id = name.replaceAll(' ', '-');
    await report(collector, new ReportingPlayer(otherId, id).event('viewstart', fields));
    await collector.stop();
    const view = await database.queryable
      .selectFrom('video_view')
      .selectAll()
      .where('environment_id', '=', otherId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(Math.abs(view.started_at.getTime() - Date.now())).toBeLessThan(2 * 86_400_000);
    expect(view.started_at.getTime()).toBeLessThanOrEqual(Date.now());
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('does not reach the view of another environment with the same ID', async () => {
    const collector = startCollector();
    await report(collector, new ReportingPlayer(otherId, 'same').event('play', { video_title: 'mine' }));
    await collector.write();
    const forged = { video_title: 'forged', view_watch_time: 1_000_000 };
    await report(collector, new ReportingPlayer(environmentId, 'same').event('viewend', { ...forged, view_start: 1 }));
    await collector.stop();
    const views = database.queryable.selectFrom('video_view').selectAll().where('id', '=', 'same');
    expect(await views.where('environment_id', '=', otherId).execute()).toMatchObject([
      { dimensions: { video_title: 'mine' }, watch_time: null, ended_at: null },
    ]);
  });
});

/** The server forgets little of a flood, however long a busy machine takes to send it. */
const slowClock = { now: systemClock.now, monotonicMs: () => systemClock.monotonicMs() / 1000 };

describe('what the server makes of hostile requests', () => {
  const viewer = '203.0.113.77';
  const logger = memoryLogger();
  let server: Booted;
  let dataDir: string;
  let environmentId: string;
  beforeAll(async () => {
    dataDir = await makeTestDataDir();
    server = await boot({
      dataDir,
      logger,
      clock: slowClock,
      options: { TRUSTED_PROXIES: '127.0.0.1', COUNTRY_HEADER: 'X-Country' },
    });
    const response = await fetch(`${server.url}/system/v1/whoami`, {
      headers: { authorization: `Basic ${btoa(`${server.token.id}:${server.token.secret}`)}` },
    });
    environmentId = (await response.json()).data.environment_id;
  });

  it('refuses a flood from one address, and nobody else', async () => {
    const body = beaconOf([new ReportingPlayer(environmentId, 'flood').event('play')]);
    const statuses = new Map<number, number>();
    const send = async (address: string): Promise<number> => {
      const response = await sendBeacon(server.url, body, { 'x-forwarded-for': address });
      await response.arrayBuffer();
      return response.status;
    };
    for (let i = 0; i < 22; i++) {
      const all = await Promise.all(Array.from({ length: 50 }, (_, j) => send(`2001:db8:1:2::${j.toString(16)}`)));
      for (const status of all) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses.keys()].toSorted()).toEqual([200, 429]);
    expect(statuses.get(200)!).toBeGreaterThanOrEqual(1000);
    expect(statuses.get(200)!).toBeLessThan(1050);
    expect(await send('2001:db8:1:3::1')).toBe(200);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('stores no address, and logs none with a view', async () => {
    const player = new ReportingPlayer(environmentId, 'private-view');
    const events = [player.event('viewstart', { page_url: 'https://example.org/page', view_start: Date.now() })];
    const headers = {
      'x-forwarded-for': viewer,
      'x-country': 'de',
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0',
    };
    expect((await sendBeacon(server.url, beaconOf(events), headers)).status).toBe(200);
    expect((await sendBeacon(server.url, '{', headers)).status).toBe(400);
    await server.stop();

    const database = await openDatabase({ dataDir, logger: quietLogger });
    const db = database.queryable;
    const view = await db
      .selectFrom('video_view')
      .selectAll()
      .where('id', '=', 'private-view')
      .executeTakeFirstOrThrow();
    expect(view.dimensions).toMatchObject({ country: 'DE', browser: 'Firefox', operating_system: 'Linux' });
    const { rows: tables } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = 'public'`.execute(db);
    const found: string[] = [];
    for (const { name } of tables) {
      const { rows } =
        await sql`select 1 from ${sql.table(name)} as stored where stored::text like ${`%${viewer}%`}`.execute(db);
      if (rows.length > 0) found.push(name);
    }
    expect(found).toEqual([]);
    expect((await listEnvironments(db)).length).toBeGreaterThan(0);
    await database.close();

    const lines = logger.lines.map((line) => ({ ...line, text: JSON.stringify(line) }));
    const withAddress = lines.filter(({ text }) => text.includes(viewer));
    // The refused one is logged for everybody, the other one for who asks for details.
    expect(withAddress.map(({ level, fields }) => [level, fields.status])).toEqual([
      ['debug', 200],
      ['info', 400],
    ]);
    for (const { text } of withAddress) expect(text).not.toMatch(/private-view|example\.org|Firefox/);
    expect(lines.filter(({ text }) => text.includes('private-view'))).toEqual([]);
  });
});
