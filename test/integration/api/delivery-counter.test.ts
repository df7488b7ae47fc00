import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import { createDeliveryCounter } from '#kinora/domain/usage/delivery-counter.js';
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

const start = (writeMs = 3_600_000, clock = systemClock) => {
  const logger = memoryLogger();
  return { logger, counter: createDeliveryCounter({ database: opened.database, clock, logger, writeMs }) };
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
  const shared = { environment_id: environmentId, asset_id: assetId };
  const noon = new Date(Date.UTC(2026, 0, 1, 12));
  expect(await rows()).toEqual([
    { ...shared, minute: noon, tier: '1080p', delivered_seconds: 4, delivered_bytes: 2 ** 34 },
    { ...shared, minute: noon, tier: '720p', delivered_seconds: 9, delivered_bytes: 2 ** 35 },
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
