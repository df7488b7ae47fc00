import { sql } from 'kysely';
import type { Queryable, Transaction } from '../../database.js';
import type { Row } from '../../schema.js';

export type DeliveredMinute = Omit<Row<'delivery_usage'>, 'minutes'>;

/**
 * Adds to the delivered totals of each asset and minute, of parts of assets and of budgets, all in
 * one statement.
 */
export const addDeliveries = async (
  db: Queryable,
  rows: readonly DeliveredMinute[],
  parts: readonly Row<'delivery_part'>[],
): Promise<void> => {
  // A row for a deleted environment or asset would fail on every attempt, together with all other
  // rows, so such rows are skipped. Budgets are locked in order, because several servers write.
  await sql`
    with counted as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as counted (
        environment_id text, asset_id text, minute timestamptz, tier text,
        delivered_seconds double precision, delivered_bytes bigint, av1_seconds double precision, av1_bytes bigint
      )
    ), totals as (
      insert into delivery_usage (
        environment_id, asset_id, minute, tier, delivered_seconds, delivered_bytes, av1_seconds, av1_bytes
      )
      select counted.* from counted
      where exists (select from environment where id = counted.environment_id)
      on conflict (environment_id, asset_id, minute, tier) do update set
        delivered_seconds = delivery_usage.delivered_seconds + excluded.delivered_seconds,
        delivered_bytes = delivery_usage.delivered_bytes + excluded.delivered_bytes,
        av1_seconds = delivery_usage.av1_seconds + excluded.av1_seconds,
        av1_bytes = delivery_usage.av1_bytes + excluded.av1_bytes
    ), budget as (
      select id, environment_id, asset_id, period from delivery_budget
      where environment_id in (select environment_id from counted)
        and (asset_id is null or asset_id in (select asset_id from counted))
      order by id for no key update
    ), newest as (
      select distinct on (budget.id) budget.id, date_trunc(budget.period, counted.minute, 'UTC') as start,
        sum(counted.delivered_bytes) as bytes, sum(counted.delivered_seconds) as seconds
      from budget join counted on counted.environment_id = budget.environment_id
        and (budget.asset_id is null or counted.asset_id = budget.asset_id)
      group by budget.id, start order by budget.id, start desc
    ), spent as (
      update delivery_budget set
        period_start = newest.start,
        reported = case when newest.start = period_start then reported else 0 end,
        delivered_bytes = newest.bytes + case when newest.start = period_start then delivered_bytes else 0 end,
        delivered_seconds = newest.seconds + case when newest.start = period_start then delivered_seconds else 0 end
      from newest where delivery_budget.id = newest.id and newest.start >= period_start
    )
    insert into delivery_part (asset_id, part, seconds)
    select counted.* from jsonb_to_recordset(${JSON.stringify(parts)}::jsonb) as counted (
      asset_id text, part integer, seconds double precision
    )
    where exists (select from asset where id = counted.asset_id)
    on conflict (asset_id, part) do update set seconds = delivery_part.seconds + excluded.seconds`.execute(db);
};

interface RollUp {
  /** The rows to sum up: what each covers, and the time before which they start. */
  readonly minutes: number;
  readonly before: Date;
  /** What the sums cover. */
  readonly into: 'hour' | 'day';
  readonly limit: number;
}

/** Sums up at most `limit` rows, oldest first. Returns their number. */
export const rollUpUsage = async (db: Queryable, { minutes, before, into, limit }: RollUp): Promise<number> => {
  const span = into === 'hour' ? 60 : 1440;
  const { rows } = await sql<{ taken: number }>`
    with taken as (
      delete from delivery_usage where ctid = any(array(
        select ctid from delivery_usage
        where minutes = ${minutes} and minute < ${before}::timestamptz
        order by minute limit ${limit} for update skip locked
      ))
      returning *
    ), summed as (
      insert into delivery_usage (
        environment_id, asset_id, minute, tier, delivered_seconds, delivered_bytes, minutes, av1_seconds, av1_bytes
      )
      select environment_id, asset_id, date_trunc(${sql.lit(into)}, minute, 'UTC') as start, tier,
        sum(delivered_seconds), sum(delivered_bytes), ${sql.lit(span)}, sum(av1_seconds), sum(av1_bytes)
      from taken group by environment_id, asset_id, start, tier
      on conflict (environment_id, asset_id, minute, tier) do update set
        delivered_seconds = delivery_usage.delivered_seconds + excluded.delivered_seconds,
        delivered_bytes = delivery_usage.delivered_bytes + excluded.delivered_bytes,
        minutes = greatest(delivery_usage.minutes, excluded.minutes),
        av1_seconds = delivery_usage.av1_seconds + excluded.av1_seconds,
        av1_bytes = delivery_usage.av1_bytes + excluded.av1_bytes
    )
    select count(*) as taken from taken`.execute(db);
  return Number(rows[0]!.taken);
};

export const listDeliveredParts = (db: Queryable, assetId: string): Promise<Row<'delivery_part'>[]> =>
  db.selectFrom('delivery_part').selectAll().where('asset_id', '=', assetId).orderBy('part').execute();

export interface UsageFilter {
  readonly environmentId: string;
  /** The start, inclusive. */
  readonly from: Date;
  /** The end, exclusive. */
  readonly before: Date;
  readonly assetId?: string | undefined;
  readonly liveStreamId?: string | undefined;
}

/**
 * What was delivered of an asset that plays early is reported once it has another state, and never
 * if an upload does not become an asset.
 */
const isReported = sql<boolean>`(
  exists (select from asset where id = delivery_usage.asset_id and status <> 'preparing')
  or exists (select from deleted_asset where id = delivery_usage.asset_id)
)`;

const selectUsage = (db: Queryable, { environmentId, from, before, assetId, liveStreamId }: UsageFilter) => {
  let select = db
    .selectFrom('delivery_usage')
    .where('environment_id', '=', environmentId)
    // The longest row covers a day.
    .where('minute', '>', sql<Date>`${from}::timestamptz - interval '1 day'`)
    .where(sql<boolean>`minute + make_interval(mins => minutes) > ${from}::timestamptz`)
    .where('minute', '<', before)
    // Others have bytes without playing time.
    .where('delivered_seconds', '>', 0)
    .where(isReported);
  if (assetId !== undefined) select = select.where('asset_id', '=', assetId);
  if (liveStreamId === undefined) return select;
  return select.where(
    sql<boolean>`asset_id in (
      select id from asset where live_stream_id = ${liveStreamId}
      union all select id from deleted_asset where live_stream_id = ${liveStreamId}
    )`,
  );
};

/** Counts the assets that were delivered. */
export const countDeliveredAssets = async (db: Queryable, filter: UsageFilter): Promise<number> => {
  const { count } = await selectUsage(db, filter)
    .select(({ fn }) => fn.count<number>('asset_id').distinct().as('count'))
    .executeTakeFirstOrThrow();
  return count;
};

/** Lists the ids of the assets that were delivered, most delivered first. */
export const listDeliveredAssets = async (
  db: Queryable,
  filter: UsageFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<string[]> => {
  const rows = await selectUsage(db, filter)
    .select('asset_id')
    .groupBy('asset_id')
    .orderBy(({ fn }) => fn.sum('delivered_seconds'), 'desc')
    .orderBy('asset_id')
    .limit(limit)
    .offset(offset)
    .execute();
  return rows.map(({ asset_id }) => asset_id);
};

export interface TierSeconds {
  readonly asset_id: string;
  readonly tier: string;
  readonly seconds: number;
}

export const sumDeliveredTiers = async (
  db: Queryable,
  filter: UsageFilter,
  assetIds: readonly string[],
): Promise<TierSeconds[]> =>
  assetIds.length === 0
    ? []
    : selectUsage(db, filter)
        .select(({ fn }) => ['asset_id', 'tier', fn.sum<number>('delivered_seconds').as('seconds')])
        .where('asset_id', 'in', assetIds)
        .groupBy(['asset_id', 'tier'])
        .orderBy('tier')
        .execute();

const reported = [
  'id',
  'created_at',
  'duration_seconds',
  'resolution_tier',
  'video_quality',
  'passthrough',
  'live_stream_id',
] as const;

export type ReportedAsset = Pick<Row<'asset'>, (typeof reported)[number]> & {
  readonly state: Row<'asset'>['status'] | 'deleted';
  readonly deleted_at: Date | null;
};

/** Finds assets as shown in usage reports, including deleted ones. */
export const findReportedAssets = async (db: Queryable, ids: readonly string[]): Promise<ReportedAsset[]> => {
  if (ids.length === 0) return [];
  // Queried in this order so that an asset deleted between the two queries is found as deleted.
  const present = await db.selectFrom('asset').select(reported).select('status').where('id', 'in', ids).execute();
  const deleted = await db
    .selectFrom('deleted_asset')
    .select(reported)
    .select('deleted_at')
    .where('id', 'in', ids)
    .execute();
  return [
    ...present.map(({ status, ...asset }) => ({ ...asset, state: status, deleted_at: null })),
    ...deleted.map((asset) => ({ ...asset, state: 'deleted' as const })),
  ];
};

/** Saves what usage reports show of an asset; call it before the asset is removed. */
export const keepDeletedAsset = async (tx: Transaction, id: string, deletedAt: Date): Promise<void> => {
  await sql`
    insert into deleted_asset (id, environment_id, created_at, deleted_at, duration_seconds, resolution_tier,
      video_quality, passthrough, live_stream_id)
    select id, environment_id, created_at, ${deletedAt}::timestamptz, duration_seconds, resolution_tier,
      video_quality, passthrough, live_stream_id
    from asset where id = ${id}`.execute(tx);
};

/** Removes the usage of minutes before `before`. */
export const deleteOldUsage = async (db: Queryable, before: Date): Promise<void> => {
  // Joins the environments so that the index can be used.
  await sql`
    delete from delivery_usage using environment
    where environment_id = environment.id and minute < ${before}::timestamptz`.execute(db);
};

export const deleteOldDeletedAssets = async (db: Queryable, before: Date): Promise<void> => {
  await db.deleteFrom('deleted_asset').where('deleted_at', '<', before).execute();
};
