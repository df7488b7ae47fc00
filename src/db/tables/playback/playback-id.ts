import type { Queryable } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

/** Returns the rows in the order given. */
export const insertPlaybackIds = async (
  db: Queryable,
  rows: readonly NewRow<'playback_id'>[],
): Promise<Row<'playback_id'>[]> => {
  if (rows.length === 0) return [];
  const inserted = await db.insertInto('playback_id').values(rows).returningAll().execute();
  return rows.map((row) => inserted.find((candidate) => candidate.id === row.id)!);
};

/** Lists the playback ids of several assets; those of one asset are in creation order. */
export const listPlaybackIds = async (db: Queryable, assetIds: readonly string[]): Promise<Row<'playback_id'>[]> =>
  assetIds.length === 0
    ? []
    : db.selectFrom('playback_id').selectAll().where('asset_id', 'in', assetIds).orderBy('seq').execute();

export const findPlaybackId = (
  db: Queryable,
  environmentId: string,
  id: string,
): Promise<Row<'playback_id'> | undefined> =>
  db
    .selectFrom('playback_id')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Searches all environments; the ID of the asset that the playback ID belongs to, if any. */
export const findPlaybackIdOwner = async (db: Queryable, id: string): Promise<string | undefined> =>
  (await db.selectFrom('playback_id').select('asset_id').where('id', '=', id).executeTakeFirst())?.asset_id ??
  undefined;

/** False when the asset has no such playback id. */
export const removePlaybackId = async (
  db: Queryable,
  environmentId: string,
  assetId: string,
  id: string,
): Promise<boolean> => {
  const result = await db
    .deleteFrom('playback_id')
    .where('id', '=', id)
    .where('asset_id', '=', assetId)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};

/** Returns the ids that were removed. */
export const removePlaybackIds = async (db: Queryable, assetId: string): Promise<string[]> => {
  const rows = await db.deleteFrom('playback_id').where('asset_id', '=', assetId).returning('id').execute();
  return rows.map(({ id }) => id);
};

/** False when the live stream has no such playback ID. */
export const removeLivePlaybackId = async (
  db: Queryable,
  environmentId: string,
  liveStreamId: string,
  id: string,
): Promise<boolean> => {
  const result = await db
    .deleteFrom('playback_id')
    .where('id', '=', id)
    .where('live_stream_id', '=', liveStreamId)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};

export const listLivePlaybackIds = async (db: Queryable, liveStreamId: string): Promise<string[]> => {
  const rows = await db.selectFrom('playback_id').select('id').where('live_stream_id', '=', liveStreamId).execute();
  return rows.map(({ id }) => id);
};
