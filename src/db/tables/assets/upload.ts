import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row, UploadStatus } from '../../schema.js';

export const insertUpload = (db: Queryable, row: NewRow<'upload'>): Promise<Row<'upload'>> =>
  db.insertInto('upload').values(row).returningAll().executeTakeFirstOrThrow();

export const findUpload = (db: Queryable, environmentId: string, id: string): Promise<Row<'upload'> | undefined> =>
  db
    .selectFrom('upload')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Without regard to the environment: the upload address carries a signature of its own. */
export const findUploadById = (db: Queryable, id: string): Promise<Row<'upload'> | undefined> =>
  db.selectFrom('upload').selectAll().where('id', '=', id).executeTakeFirst();

/** Holds the upload until the transaction ends: only one of the ways out of `waiting` is ever taken. */
export const lockUpload = (tx: Transaction, id: string): Promise<Row<'upload'> | undefined> =>
  tx.selectFrom('upload').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();

export const updateUpload = (
  db: Queryable,
  id: string,
  change: { status: UploadStatus; error?: { type: string; message: string } },
): Promise<Row<'upload'>> =>
  db
    .updateTable('upload')
    .set({ status: change.status, ...(change.error && { error: JSON.stringify(change.error) }) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** Null: not known yet. */
export const saveUploadTotal = async (db: Queryable, id: string, totalBytes: number | null): Promise<void> => {
  await db.updateTable('upload').set({ total_bytes: totalBytes }).where('id', '=', id).execute();
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

/** Waiting uploads that a stopped server may have left with something to do: the time is over or the size is known. */
export const listUnsettledUploads = async (db: Queryable, now: Date): Promise<string[]> => {
  const rows = await db
    .selectFrom('upload')
    .select('id')
    .where('status', '=', 'waiting')
    .where((where) => where.or([where('expires_at', '<=', now), where('total_bytes', 'is not', null)]))
    .execute();
  return rows.map(({ id }) => id);
};
