import type { Queryable, Transaction } from '../../database.js';
import type { EarlyPlayback, EarlyPlaybackId, NewRow, Row, UploadStatus } from '../../schema.js';

export const insertUpload = (db: Queryable, row: NewRow<'upload'>): Promise<Row<'upload'>> =>
  db.insertInto('upload').values(row).returningAll().executeTakeFirstOrThrow();

export const findUpload = (db: Queryable, environmentId: string, id: string): Promise<Row<'upload'> | undefined> =>
  db
    .selectFrom('upload')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Searches all environments: the upload URL carries its own signature. */
export const findUploadById = (db: Queryable, id: string): Promise<Row<'upload'> | undefined> =>
  db.selectFrom('upload').selectAll().where('id', '=', id).executeTakeFirst();

/** Locks the upload until the transaction ends, so that its `waiting` state ends only once. */
export const lockUpload = (tx: Transaction, id: string): Promise<Row<'upload'> | undefined> =>
  tx.selectFrom('upload').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();

export const updateUpload = (
  db: Queryable,
  id: string,
  change: { status: UploadStatus; error?: { type: string; message: string } },
): Promise<Row<'upload'>> =>
  db
    .updateTable('upload')
    .set({ status: change.status, error: change.error && JSON.stringify(change.error) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

/**
 * `totalBytes` is null while the size is unknown. With `leaseToken`, returns false and changes
 * nothing when another server receives the upload.
 */
export const saveUploadTotal = async (
  db: Queryable,
  id: string,
  totalBytes: number | null,
  leaseToken?: string,
): Promise<boolean> => {
  let update = db.updateTable('upload').set({ total_bytes: totalBytes }).where('id', '=', id);
  if (leaseToken !== undefined)
    update = update.where((where) =>
      where.exists(
        where
          .selectFrom('upload_transfer')
          .select('upload_id')
          .whereRef('upload_transfer.upload_id', '=', 'upload.id')
          .where('lease_token', '=', leaseToken),
      ),
    );
  const { numUpdatedRows } = await update.executeTakeFirst();
  return numUpdatedRows > 0n;
};

/** `playbackIds` is null for an upload that does not play before it is complete. */
export const saveEarlyPlaybackIds = (
  db: Queryable,
  id: string,
  playbackIds: readonly EarlyPlaybackId[] | null,
): Promise<Row<'upload'>> =>
  db
    .updateTable('upload')
    .set({ early_playback_ids: playbackIds && JSON.stringify(playbackIds) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** Null for an upload of which nothing is known yet. */
export const saveUploadEarlyPlayback = async (
  db: Queryable,
  id: string,
  early: EarlyPlayback | null,
): Promise<void> => {
  await db
    .updateTable('upload')
    .set({ early_playback: early && JSON.stringify(early) })
    .where('id', '=', id)
    .execute();
};

/** Newest first. */
export const listUploads = (
  db: Queryable,
  environmentId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<Row<'upload'>[]> =>
  db
    .selectFrom('upload')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();

/**
 * Lists waiting uploads that a stopped server may not have finished: their time is over or their
 * size is known.
 */
export const listUnsettledUploads = async (db: Queryable, now: Date): Promise<string[]> => {
  const rows = await db
    .selectFrom('upload')
    .select('id')
    .where('status', '=', 'waiting')
    .where((where) => where.or([where('expires_at', '<=', now), where('total_bytes', 'is not', null)]))
    .execute();
  return rows.map(({ id }) => id);
};
