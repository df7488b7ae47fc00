import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addDeliveries } from '#kinora/db/tables/playback/usage.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import { DeliveryCounter } from '#kinora/domain/usage/delivery-counter.js';
import { listDeliveryUsage } from '#kinora/domain/usage/list-delivery-usage.js';
import { systemClock } from '#kinora/lib/clock.js';
import { newId } from '#kinora/lib/ids.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { openTestDatabase, type TestDatabase } from '../../support/servers/database.js';

let opened: TestDatabase;
let environmentId: string;
const db = () => opened.database.queryable;
beforeAll(async () => {
  opened = await openTestDatabase();
  await bootstrap(opened.database, opened, systemClock);
  environmentId = (await db().selectFrom('environment').select('id').executeTakeFirstOrThrow()).id;
});
afterAll(() => opened?.close());
beforeEach(async () => {
  await db().deleteFrom('delivery_usage').execute();
});

const start = (writeMs = 3_600_000, clock = systemClock, options = {}) => {
  const logger = memoryLogger();
  const { database } = opened;
  return { logger, counter: new DeliveryCounter({ database, clock, logger, writeMs, ...options }) };
};
const rows = () => db().selectFrom('delivery_usage').selectAll().orderBy('minute').orderBy('tier').execute();

test('sums by asset, minute and tier, on top of what is already written', async () => {
  const assetId = newId();
  let nowMs = Date.UTC(2026, 0, 1, 12, 0, 59, 999);
  const clock = { ...systemClock, now: () => new Date(nowMs) };
  for (let run = 0; run < 2; run++) {
    const { counter } = start(undefined, clock);
    const count = (tier: '720p' | '1080p', seconds: number) =>
      counter.count({ environmentId, assetId, tier, seconds, bytes: 2 ** 33 });
    count('720p', 4);
    count('720p', 0.5);
    count('1080p', 2);
    count('720p', 0);
    nowMs += 1;
    count('720p', 8);
    nowMs -= 1;
    await counter.stop();
  }
  const shared = { environment_id: environmentId, asset_id: assetId, minutes: 1, av1_seconds: 0, av1_bytes: 0 };
  const noon = new Date(Date.UTC(2026, 0, 1, 12));
  expect(await rows()).toEqual([
    { ...shared, minute: noon, tier: '1080p', delivered_seconds: 4, delivered_bytes: 2 ** 34 },
    { ...shared, minute: noon, tier: '720p', delivered_seconds: 9, delivered_bytes: 3 * 2 ** 34 },
    {
      ...shared,
      minute: new Date(noon.getTime() + 60_000),
      tier: '720p',
      delivered_seconds: 16,
      delivered_bytes: 2 ** 34,
    },
  ]);
});

test('keeps what could not be written, and writes it once', async () => {
  const { counter, logger } = start(20);
  const delivery = { environmentId, assetId: newId(), tier: '720p', seconds: 4, bytes: 10 } as const;
  await db().schema.alterTable('delivery_usage').renameTo('away').execute();
  counter.count(delivery);
  await expect
    .poll(() => logger.lines.filter(({ message }) => message.startsWith('delivery usage')).length, { timeout: 120_000 })
    .toBeGreaterThan(1);
  counter.count(delivery);
  await db().schema.alterTable('away').renameTo('delivery_usage').execute();
  await expect.poll(rows, { timeout: 120_000 }).toHaveLength(1);
  await counter.stop();
  expect(await rows()).toMatchObject([{ delivered_seconds: 8, delivered_bytes: 20 }]);
});

test('at its limit, counts what it knows, and says once what it loses', async () => {
  const { counter, logger } = start(undefined, systemClock, { maxWaiting: 2 });
  const assetId = newId();
  // Positions are stored for assets that exist.
  await sql`
    insert into asset (id, environment_id, created_at, status, ingest_type, video_quality, max_resolution_tier, mp4_support,
      master_access, normalize_audio, is_test)
    values (${assetId}, ${environmentId}, now(), 'ready', 'on_demand_url', 'basic', '1080p', 'none', 'none', false,
      false)`.execute(db());
  const delivery = { environmentId, assetId, tier: '720p', seconds: 4, bytes: 10 } as const;
  for (const startSeconds of [0, 1000, 2000, 3000, 0, 1000]) counter.count({ ...delivery, startSeconds });
  await counter.stop();
  const parts = await db().selectFrom('delivery_part').select('seconds').where('asset_id', '=', assetId).execute();
  expect(parts).toEqual([{ seconds: 8 }, { seconds: 8 }]);
  expect(await rows()).toMatchObject([{ delivered_seconds: 24 }]);
  expect(logger.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
    'delivery usage lost: too much waits for the database',
  ]);
});

test('says at the stop what it could not write', async () => {
  const { counter, logger } = start();
  await db().schema.alterTable('delivery_usage').renameTo('away').execute();
  try {
    const delivery = { environmentId, tier: '720p', seconds: 4, bytes: 10 } as const;
    for (let count = 0; count < 3; count += 1) counter.count({ ...delivery, assetId: newId() });
    await counter.stop();
  } finally {
    await db().schema.alterTable('away').renameTo('delivery_usage').execute();
  }
  expect(logger.lines).toMatchObject([
    { level: 'error', fields: { sums: 3 }, message: 'delivery usage lost: not stored before the stop' },
  ]);
});

test('what was sent for an environment that is gone does not hold up the rest', async () => {
  const { counter } = start();
  const delivery = { assetId: newId(), tier: '720p', seconds: 4, bytes: 10 } as const;
  counter.count({ ...delivery, environmentId: 'gone00' });
  counter.count({ ...delivery, environmentId });
  await counter.stop();
  expect(await rows()).toMatchObject([{ environment_id: environmentId }]);
});

test('removes what is too old for any report, and the names that only it refers to', async () => {
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
  const ids = { old: newId(), young: newId() };
  for (const [id, days] of [
    [ids.old, 93],
    [ids.young, 90],
  ] as const) {
    const shared = { environment_id: environmentId };
    await db()
      .insertInto('delivery_usage')
      .values({
        ...shared,
        asset_id: id,
        minute: daysAgo(days),
        tier: '720p',
        delivered_seconds: 1,
        delivered_bytes: 1,
      })
      .execute();
    await db()
      .insertInto('deleted_asset')
      .values({ ...shared, id, created_at: daysAgo(200), deleted_at: daysAgo(days), video_quality: 'basic' })
      .execute();
  }
  const { counter } = start(20);
  const names = async () => (await db().selectFrom('deleted_asset').select('id').execute()).map(({ id }) => id);
  await expect.poll(names, { timeout: 120_000 }).toEqual([ids.young]);
  await counter.stop();
  expect((await rows()).map(({ asset_id: id }) => id)).toEqual([ids.young]);
});

test('sums up what is old by hours and days, without changing what reports say', async () => {
  const nowMs = Date.UTC(2026, 5, 20, 12, 30);
  const clock = { ...systemClock, now: () => new Date(nowMs) };
  const [one, other] = [newId(), newId()];
  const HOUR_MS = 3_600_000;
  const minutes: { asset: string; atMs: number; tier: string }[] = [];
  // Every 20 minutes of 4 days around each border.
  for (const day of [13, 14, 15, 1, 2, 3])
    for (let atMs = nowMs - day * 24 * HOUR_MS; atMs < nowMs - (day - 1) * 24 * HOUR_MS; atMs += HOUR_MS / 3)
      for (const asset of [one, other])
        for (const tier of ['720p', '1080p']) minutes.push({ asset, atMs: atMs - (atMs % 60_000), tier });
  const rowsOf = (list: typeof minutes) =>
    list.map(({ asset, atMs, tier }) => ({
      ...{ environment_id: environmentId, asset_id: asset, tier, minute: new Date(atMs) },
      ...{ delivered_seconds: 4, delivered_bytes: 2 ** 20, av1_seconds: 1, av1_bytes: 2 ** 18 },
    }));
  await addDeliveries(db(), rowsOf(minutes), []);
  await db()
    .insertInto('deleted_asset')
    .values(
      [one, other].map((id) => ({
        ...{ id, environment_id: environmentId, video_quality: 'basic' },
        ...{ created_at: new Date(nowMs), deleted_at: new Date() },
      })),
    )
    .execute();
  const report = async (fromMs: number, untilMs: number) => {
    const window = [fromMs / 1000, untilMs / 1000] as [number, number];
    const query = { window, page: { page: 1, limit: 100, offset: 0 }, assetId: undefined, liveStreamId: undefined };
    const { reports } = await listDeliveryUsage({ database: opened.database, clock }, environmentId, query);
    return reports.map(({ asset, tiers }) => ({ id: asset.id, tiers }));
  };
  const daysAgo = (days: number) => Date.UTC(2026, 5, 20 - days);
  const windows = [
    [nowMs - 80 * 24 * HOUR_MS, nowMs],
    [nowMs - 24 * HOUR_MS, nowMs - 23 * HOUR_MS + 60_000],
    [daysAgo(2) - 10 * HOUR_MS, daysAgo(2) - 3 * HOUR_MS],
    [daysAgo(15), daysAgo(14)],
    [daysAgo(16), daysAgo(13) + 5 * HOUR_MS],
  ] as const;
  const reports = async () => Promise.all(windows.map(([from, until]) => report(from, until)));
  const before = await reports();
  expect(before.map((found) => found.length)).toEqual([2, 2, 2, 2, 2]);

  const rollUpHere = async () => {
    const { counter } = start(20, clock);
    const ended = async () =>
      (
        await db()
          .selectFrom('delivery_usage')
          .select('minute')
          .where(({ eb, or, and }) =>
            or([
              and([eb('minutes', '=', 1), eb('minute', '<', new Date(nowMs - 48 * HOUR_MS))]),
              and([eb('minutes', '=', 60), eb('minute', '<', new Date(nowMs - 14 * 24 * HOUR_MS))]),
            ]),
          )
          .execute()
      ).length;
    await expect.poll(ended, { timeout: 120_000 }).toBe(0);
    await counter.stop();
  };
  await rollUpHere();
  expect(await reports()).toEqual(before);
  const spans = new Map<number, number>();
  for (const { minutes: span } of await rows()) spans.set(span, (spans.get(span) ?? 0) + 1);
  expect([...spans.keys()].sort((a, b) => a - b)).toEqual([1, 60, 1440]);
  // Two whole days of minutes and parts of three days; each of the rest stands for three or more.
  expect((await rows()).length).toBeLessThan(minutes.length * 0.65);

  // What is written late is added to what was summed up.
  await addDeliveries(db(), rowsOf(minutes.slice(0, 50)), []);
  await rollUpHere();
  const seconds = (await rows()).reduce((sum, row) => sum + row.delivered_seconds, 0);
  expect(seconds).toBe((minutes.length + 50) * 4);
});

test('what waits for the database takes a limited memory', async () => {
  const { counter, logger } = start(undefined, systemClock, { maxWaiting: 3 });
  const deliver = (assetId: string) =>
    counter.count({ environmentId, assetId, tier: '720p', seconds: 4, bytes: 10, startSeconds: 0 });
  const ids = [newId(), newId(), newId(), newId(), newId()];
  for (const id of ids) deliver(id);
  for (const id of ids) deliver(id);
  await counter.stop();
  expect((await rows()).map((row) => row.delivered_seconds)).toEqual([8, 8, 8]);
  expect(logger.lines.filter(({ message }) => message.startsWith('delivery usage lost'))).toHaveLength(1);
});
