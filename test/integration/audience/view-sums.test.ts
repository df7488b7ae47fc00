import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { RollUpPeriod } from '#kinora/audience/calculations/roll-up-spans.js';
import { purgeViews } from '#kinora/audience/purge-views.js';
import { sumUpViews } from '#kinora/audience/sum-up-views.js';
import type { Database } from '#kinora/db/database.js';
import type { Row } from '#kinora/db/schema.js';
import { insertEnvironment } from '#kinora/db/tables/server/environment.js';
import type { Clock } from '#kinora/lib/clock.js';
import { newId, newShortId } from '#kinora/lib/ids.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { seedViews, viewAt } from '../../support/audience-views.js';
import { quietLogger } from '../../support/logger.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Noon, so that no view of the last hours began on another day. */
const nowMs = Date.UTC(2026, 4, 20, 12, 30);

const clockAt = (ms: number): Clock => ({ now: () => new Date(ms), monotonicMs: () => ms });

describeOnBothEngines('sums of views', (database) => {
  const newEnvironment = async (): Promise<string> => {
    const id = newShortId();
    await insertEnvironment(database().queryable, { id, name: `environment ${id}`, type: 'production' });
    return id;
  };
  const sumUp = (ms = nowMs): Promise<void> => sumUpViews({ database: database(), clock: clockAt(ms) });
  const listSums = (environmentId: string): Promise<Row<'view_rollup'>[]> =>
    database()
      .queryable.selectFrom('view_rollup')
      .selectAll()
      .where('environment_id', '=', environmentId)
      .orderBy('period')
      .orderBy('dimension')
      .orderBy('value')
      .execute();
  const countViews = async (environmentId: string): Promise<number> => {
    const query = database()
      .queryable.selectFrom('video_view')
      .select(({ fn }) => fn.countAll().as('count'));
    return Number((await query.where('environment_id', '=', environmentId).executeTakeFirstOrThrow()).count);
  };
  const totalOf = (sums: readonly Row<'view_rollup'>[], period: RollUpPeriod, dimension = '', value = '') =>
    sums
      .filter((sum) => sum.period === period && sum.dimension === dimension && sum.value === value)
      .reduce((total, sum) => total + Number(sum.views), 0);

  it('count each view that has ended once, also when several servers sum up', async () => {
    const environmentId = await newEnvironment();
    const assetId = newId();
    const startedMs = nowMs - HOUR_MS;
    const dimensions = { country: 'DE', browser: 'Firefox' };
    await seedViews(database(), environmentId, [
      ...Array.from({ length: 1200 }, (_, i) => viewAt(startedMs, `view-${i}`, { assetId, dimensions })),
      viewAt(startedMs, 'failed', { isFailed: true, startupMs: null, watchMs: 10, playingMs: 0 }),
      viewAt(startedMs, 'left', { startupMs: null, watchMs: 20, playingMs: 0 }),
    ]);
    await Promise.all([sumUp(), sumUp(), sumUp()]);
    await sumUp();
    const sums = await listSums(environmentId);
    for (const period of ['hour', 'day', 'month'] as const) {
      expect(totalOf(sums, period)).toBe(1202);
      expect(totalOf(sums, period, 'asset_id', assetId)).toBe(1200);
      expect(totalOf(sums, period, 'country', 'DE')).toBe(1200);
      expect(totalOf(sums, period, 'browser', 'Firefox')).toBe(1200);
    }
    const all = sums.find((sum) => sum.period === 'day' && sum.dimension === '');
    expect(all).toMatchObject({ start: new Date(Date.UTC(2026, 4, 20)) });
    const ofMonth = sums.find((sum) => sum.period === 'month' && sum.dimension === '');
    expect(ofMonth).toMatchObject({ start: new Date(Date.UTC(2026, 4, 1)) });
    expect(
      Object.entries(all!)
        .flatMap(([name, value]) => (name === 'start' ? [] : [Number(value)]))
        .slice(4),
    ).toEqual([...[1202, 1200 * 60_000 + 30, 1200 * 59_000, 0, 0, 1200, 1200 * 500, 1, 1, 1]]);
  });

  it('are not changed by a transaction that does not end, such as that of a killed server', async () => {
    const environmentId = await newEnvironment();
    await seedViews(database(), environmentId, [viewAt(nowMs - HOUR_MS, 'counted once')]);
    const db = database();
    const killed: Database = {
      ...db,
      queryable: db.queryable,
      transaction: (task) =>
        db.transaction(async (tx) => {
          await task(tx);
          throw new Error('killed');
        }),
    };
    await expect(sumUpViews({ database: killed, clock: clockAt(nowMs) })).rejects.toThrow('killed');
    expect(await listSums(environmentId)).toEqual([]);
    await sumUp();
    expect(totalOf(await listSums(environmentId), 'day')).toBe(1);
  });

  it('wait until every server has written what it received', async () => {
    const environmentId = await newEnvironment();
    await seedViews(database(), environmentId, [viewAt(nowMs - 90_000, 'just ended', { seenMs: nowMs - 30_000 })]);
    await sumUp();
    expect(await listSums(environmentId)).toEqual([]);
    await sumUp(nowMs + 31_000);
    expect(totalOf(await listSums(environmentId), 'day')).toBe(1);
  });

  it('end views of which nothing was reported for two minutes', async () => {
    const environmentId = await newEnvironment();
    await seedViews(database(), environmentId, [
      viewAt(nowMs - HOUR_MS, 'silent', { seenMs: nowMs - 121_000, isEnded: false }),
      viewAt(nowMs - HOUR_MS, 'watching', { seenMs: nowMs - 119_000, isEnded: false }),
    ]);
    await sumUp();
    const views = await database()
      .queryable.selectFrom('video_view')
      .select(['id', 'ended_at', 'is_dropped', 'is_summed'])
      .where('environment_id', '=', environmentId)
      .orderBy('id')
      .execute();
    expect(views).toEqual([
      { id: 'silent', ended_at: new Date(nowMs - 121_000), is_dropped: true, is_summed: true },
      { id: 'watching', ended_at: null, is_dropped: false, is_summed: false },
    ]);
    expect(totalOf(await listSums(environmentId), 'hour')).toBe(1);
  });

  it('add what players do not compute: the bitrate that was played, and its changes', async () => {
    const environmentId = await newEnvironment();
    const startedMs = nowMs - HOUR_MS;
    await seedViews(database(), environmentId, [viewAt(startedMs, 'changing')]);
    const at = (name: string, ms: number, bitrate?: number) => [
      ...[name, startedMs + ms, 0],
      bitrate === undefined ? null : { video_source_bitrate: bitrate },
    ];
    const events = [
      ...[at('viewstart', 0), at('renditionchange', 0, 1_000_000), at('playing', 10_000)],
      ...[at('renditionchange', 20_000, 3_000_000), at('pause', 40_000), at('playing', 50_000)],
      at('renditionchange', 50_000, 2_000_000),
    ];
    await sql`update video_view set events = ${JSON.stringify(events)}::jsonb
      where environment_id = ${environmentId}`.execute(database().queryable);
    await sumUp();
    const view = await database()
      .queryable.selectFrom('video_view')
      .selectAll()
      .where('environment_id', '=', environmentId)
      .executeTakeFirstOrThrow();
    expect(view).toMatchObject({ rendition_changes: 2, rendition_upshifts: 1, rendition_downshifts: 1 });
    // 10 s of 1, 20 s of 3 and 10 s of 2 Mbit/s.
    expect(view.average_bitrate).toBeCloseTo(2_250_000);
  });

  it('count values beyond the first 200 that players name as others', async () => {
    const environmentId = await newEnvironment();
    const views = (from: number) =>
      Array.from({ length: 150 }, (_, i) =>
        viewAt(nowMs - HOUR_MS, `view-${from + i}`, { dimensions: { player_name: `player ${from + i}` } }),
      );
    for (const from of [0, 100, 200, 300]) {
      await seedViews(database(), environmentId, views(from * 10));
      await sumUp();
    }
    const players = (await listSums(environmentId)).filter(
      ({ period, dimension }) => period === 'hour' && dimension === 'player_name',
    );
    expect(players.length).toBe(201);
    expect(players.reduce((total, { views: count }) => total + Number(count), 0)).toBe(600);
    expect(Number(players.find(({ value }) => value === 'other')!.views)).toBe(400);
  });

  it('are removed with the views by age, sums of hours sooner', async () => {
    const environmentId = await newEnvironment();
    // On May 19 and 5, on February 20 and 17, and on December 31.
    const ages = [1, 15, 89, 92, 140].map((days) => viewAt(nowMs - days * DAY_MS, `${days} days old`));
    await seedViews(database(), environmentId, ages);
    await sumUp();
    await purgeViews({ database: database(), clock: clockAt(nowMs), logger: quietLogger, retentionMs: 90 * DAY_MS });
    expect(await countViews(environmentId)).toBe(3);
    const sums = await listSums(environmentId);
    // The month in which the oldest view began stays whole.
    expect([totalOf(sums, 'hour'), totalOf(sums, 'day'), totalOf(sums, 'month')]).toEqual([1, 3, 4]);
  });
});
