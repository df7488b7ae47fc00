import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';

interface WatchedFilter {
  /** Something was delivered at or after this time. */
  readonly since: Date;
  /** Where the sum of what was delivered begins. */
  readonly from: Date;
  /** How many times the duration of the asset that sum exceeds. */
  readonly factor: number;
  readonly limit: number;
}

/** The IDs of ready assets with video whose AV1 ladder is not listed although they are watched. */
export const listWatchedAssets = async (
  db: Queryable,
  { since, from, factor, limit }: WatchedFilter,
): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from asset
    where id in (
        select asset_id from delivery_usage where minutes in (1, 60) and minute >= ${since}::timestamptz
      )
      and status = 'ready' and not is_live and av1 = 'auto' and av1_state is null
      and resolution_tier <> 'audio-only' and duration_seconds > 0
      and (
        select sum(delivered_seconds) from delivery_usage
        where environment_id = asset.environment_id and asset_id = asset.id and minute > ${from}::timestamptz
      ) > ${factor} * duration_seconds
    limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
};

/** Undefined when there is no such asset. */
export const findAv1State = (
  db: Queryable,
  assetId: string,
): Promise<Pick<Row<'asset'>, 'status' | 'av1' | 'av1_state'> | undefined> =>
  db.selectFrom('asset').select(['status', 'av1', 'av1_state']).where('id', '=', assetId).executeTakeFirst();

export const saveAv1State = async (db: Queryable, assetId: string, state: 'listed' | 'failed'): Promise<void> => {
  await db.updateTable('asset').set({ av1_state: state }).where('id', '=', assetId).execute();
};

/** What AV1 took in a time, and what it saved. */
export interface Av1Savings {
  readonly seconds: number;
  readonly bytes: number;
  /**
   * An estimate: what H.264 of the same asset and tier took for as many seconds, less `bytes`. What
   * was never delivered in H.264 is left out.
   */
  readonly savedBytes: number;
}

/** Of one asset, or of all. */
export const sumAv1Savings = async (db: Queryable, from: Date, assetId?: string): Promise<Av1Savings> => {
  const { rows } = await sql<{ seconds: number; bytes: string; saved: number }>`
    select coalesce(sum(av1_seconds), 0) as seconds, coalesce(sum(av1_bytes), 0) as bytes,
      coalesce(sum(av1_seconds * other_bytes / nullif(other_seconds, 0) - av1_bytes), 0) as saved
    from (
      select sum(av1_seconds) as av1_seconds, sum(av1_bytes) as av1_bytes,
        sum(delivered_seconds - av1_seconds) as other_seconds, sum(delivered_bytes - av1_bytes) as other_bytes
      from delivery_usage
      where minute >= ${from}::timestamptz ${assetId === undefined ? sql`` : sql`and asset_id = ${assetId}`}
      group by environment_id, asset_id, tier
    ) as tiers
    where av1_seconds > 0`.execute(db);
  const { seconds, bytes, saved } = rows[0]!;
  return { seconds, bytes: Number(bytes), savedBytes: Math.max(Math.round(saved), 0) };
};
