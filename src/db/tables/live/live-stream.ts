import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row, Schema } from '../../schema.js';

/** Assets that `recent_asset_ids` names at most. */
const MAX_RECENT_ASSETS = 10;

const PLAYBACK_ID_COLUMNS = ['id', 'policy', 'drm_configuration_id'] as const;

/** A live stream with everything that responses and events show about it. */
export interface LiveStreamView extends Row<'live_stream'> {
  /** In creation order, like the other lists. */
  readonly playback_ids: readonly Pick<Row<'playback_id'>, (typeof PLAYBACK_ID_COLUMNS)[number]>[];
  readonly simulcast_targets: readonly Row<'simulcast_target'>[];
  readonly recent_asset_ids: readonly string[];
}

export const insertLiveStream = async (tx: Transaction, row: NewRow<'live_stream'>): Promise<void> => {
  await tx.insertInto('live_stream').values(row).execute();
};

/** Live streams with what belongs to them. */
export const selectViews = (db: Queryable) => {
  const id = sql.ref<string>('live_stream.id');
  return db
    .selectFrom('live_stream')
    .selectAll('live_stream')
    .select([
      jsonArrayFrom(
        db.selectFrom('playback_id').select(PLAYBACK_ID_COLUMNS).where('live_stream_id', '=', id).orderBy('seq'),
      ).as('playback_ids'),
      jsonArrayFrom(db.selectFrom('simulcast_target').selectAll().where('live_stream_id', '=', id).orderBy('seq')).as(
        'simulcast_targets',
      ),
      sql<string[]>`array(
        select recent.id from (
          select asset.id, asset.created_at, asset.seq from asset where asset.live_stream_id = ${id}
          order by asset.created_at desc, asset.seq desc limit ${sql.lit(MAX_RECENT_ASSETS)}
        ) recent order by recent.created_at, recent.seq
      )`.as('recent_asset_ids'),
    ]);
};

/** Undefined when the environment has no such live stream. */
export const findLiveStreamView = (
  db: Queryable,
  environmentId: string,
  id: string,
): Promise<LiveStreamView | undefined> =>
  selectViews(db).where('id', '=', id).where('environment_id', '=', environmentId).executeTakeFirst();

/** Searches all environments, for the server's own work. */
export const findLiveStreamViewById = (db: Queryable, id: string): Promise<LiveStreamView | undefined> =>
  selectViews(db).where('id', '=', id).executeTakeFirst();

export interface ListLiveStreamsQuery {
  readonly limit: number;
  readonly offset: number;
  readonly status?: Row<'live_stream'>['status'] | undefined;
  readonly streamKeyHash?: string | undefined;
}

/** Newest first. */
export const listLiveStreamViews = (
  db: Queryable,
  environmentId: string,
  { limit, offset, status, streamKeyHash }: ListLiveStreamsQuery,
): Promise<LiveStreamView[]> => {
  let select = selectViews(db).where('environment_id', '=', environmentId);
  if (status !== undefined) select = select.where('status', '=', status);
  if (streamKeyHash !== undefined) select = select.where('stream_key_hash', '=', streamKeyHash);
  return select.orderBy('created_at', 'desc').orderBy('seq', 'desc').limit(limit).offset(offset).execute();
};

/** Searches all environments: a stream key is the only identification of an encoder. */
export const findLiveStreamByKeyHash = (db: Queryable, hash: string): Promise<Row<'live_stream'> | undefined> =>
  db.selectFrom('live_stream').selectAll().where('stream_key_hash', '=', hash).executeTakeFirst();

/** In all environments. */
export const findLiveStream = (db: Queryable, id: string): Promise<Row<'live_stream'> | undefined> =>
  db.selectFrom('live_stream').selectAll().where('id', '=', id).executeTakeFirst();

/** Locks the live stream against other changes until the transaction ends. In all environments. */
export const lockLiveStream = (tx: Transaction, id: string): Promise<Row<'live_stream'> | undefined> =>
  tx.selectFrom('live_stream').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();

/** JSON columns are given as text. */
export const updateLiveStreamRow = async (
  tx: Transaction,
  id: string,
  change: Partial<NewRow<'live_stream'>>,
): Promise<void> => {
  if (Object.keys(change).length > 0) await tx.updateTable('live_stream').set(change).where('id', '=', id).execute();
};

/** Removes it with its playback IDs and simulcast targets. */
export const removeLiveStream = async (tx: Transaction, id: string): Promise<void> => {
  await tx.deleteFrom('live_stream').where('id', '=', id).execute();
};

/** Live streams with a broadcast that has not ended, oldest first; of any server for null. */
export const listBroadcasts = (db: Queryable, nodeId: string | null): Promise<Row<'live_stream'>[]> => {
  const select = db
    .selectFrom('live_stream')
    .selectAll()
    .where(sql<boolean>`(active_asset_id is not null or connected)`)
    .orderBy('seq');
  return (nodeId === null ? select : select.where('node_id', '=', nodeId)).execute();
};

type Target = Schema['simulcast_target'];

export const insertSimulcastTargets = async (
  tx: Transaction,
  rows: readonly NewRow<'simulcast_target'>[],
): Promise<Row<'simulcast_target'>[]> =>
  rows.length === 0
    ? []
    : tx
        .insertInto('simulcast_target')
        .values([...rows])
        .returningAll()
        .execute();

/** In order of creation. */
export const listSimulcastTargets = (db: Queryable, liveStreamId: string): Promise<Row<'simulcast_target'>[]> =>
  db.selectFrom('simulcast_target').selectAll().where('live_stream_id', '=', liveStreamId).orderBy('seq').execute();

export const findSimulcastTarget = (
  db: Queryable,
  liveStreamId: string,
  id: string,
): Promise<Row<'simulcast_target'> | undefined> =>
  db
    .selectFrom('simulcast_target')
    .selectAll()
    .where('id', '=', id)
    .where('live_stream_id', '=', liveStreamId)
    .executeTakeFirst();

/** Returns the changed row; undefined when it was removed, or has this state already. */
export const updateSimulcastTarget = (
  tx: Transaction,
  id: string,
  { status, error_severity }: { status: Row<'simulcast_target'>['status']; error_severity: Target['error_severity'] },
): Promise<Row<'simulcast_target'> | undefined> =>
  tx
    .updateTable('simulcast_target')
    .set({ status, error_severity })
    .where('id', '=', id)
    .where(sql<boolean>`(status, error_severity) is distinct from (${status}::text, ${error_severity}::text)`)
    .returningAll()
    .executeTakeFirst();

export const removeSimulcastTarget = async (tx: Transaction, id: string): Promise<void> => {
  await tx.deleteFrom('simulcast_target').where('id', '=', id).execute();
};
