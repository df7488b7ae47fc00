import { sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { RollUpPeriod } from '../calculations/roll-up-spans.js';

/** Removes views that began before a time, `limit` at most. Returns their number. */
export const deleteOldViews = async (
  db: Queryable,
  environmentId: string,
  before: Date,
  limit: number,
): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from video_view where ctid = any(array(
      select ctid from video_view where environment_id = ${environmentId} and started_at < ${before}::timestamptz
      limit ${limit} for update skip locked
    ))`.execute(db);
  return Number(numAffectedRows ?? 0);
};

/** Removes sums of periods that began before these times. */
export const deleteOldSums = async (
  db: Queryable,
  environmentId: string,
  before: Readonly<Record<RollUpPeriod, Date>>,
): Promise<void> => {
  for (const period of ['hour', 'day', 'month'] as const) {
    await db
      .deleteFrom('view_rollup')
      .where('environment_id', '=', environmentId)
      .where('period', '=', period)
      .where('start', '<', before[period])
      .execute();
  }
};

/** Removes errors that were not reported since a time and that no view names. */
export const deleteOldErrors = async (db: Queryable, environmentId: string, before: Date): Promise<void> => {
  await db
    .deleteFrom('view_error')
    .where('environment_id', '=', environmentId)
    .where('last_seen_at', '<', before)
    .where(sql<boolean>`not exists (
      select from video_view where environment_id = view_error.environment_id and error_id = view_error.id)`)
    .execute();
};

/** Removes views of an asset, `limit` at most. Returns their number. */
export const deleteViewsOfAsset = async (
  db: Queryable,
  environmentId: string,
  assetId: string,
  limit: number,
): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from video_view where ctid = any(array(
      select ctid from video_view where environment_id = ${environmentId} and asset_id = ${assetId}
      limit ${limit} for update
    ))`.execute(db);
  return Number(numAffectedRows ?? 0);
};

/** Removes what roll-ups tell of an asset. It is still counted in those of all views. */
export const deleteSumsOfAsset = async (db: Queryable, environmentId: string, assetId: string): Promise<void> => {
  await db
    .deleteFrom('view_rollup')
    .where('environment_id', '=', environmentId)
    .where('dimension', '=', 'asset_id')
    .where('value', '=', assetId)
    .execute();
};
