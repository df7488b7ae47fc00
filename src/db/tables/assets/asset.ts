import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row, StoredChapters } from '../../schema.js';

export const insertAsset = async (db: Queryable, row: NewRow<'asset'>): Promise<Row<'asset'>> => {
  const asset = await db.insertInto('asset').values(row).returningAll().executeTakeFirstOrThrow();
  await db.insertInto('asset_media').values({ asset_id: asset.id, facts: null, plan: null }).execute();
  return asset;
};

export const findAsset = (db: Queryable, environmentId: string, id: string): Promise<Row<'asset'> | undefined> =>
  db
    .selectFrom('asset')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Searches all environments, for the server's own work. */
export const findAssetById = (db: Queryable, id: string): Promise<Row<'asset'> | undefined> =>
  db.selectFrom('asset').selectAll().where('id', '=', id).executeTakeFirst();

/** Those of the IDs that assets have. */
export const listExistingAssets = async (db: Queryable, ids: readonly string[]): Promise<string[]> =>
  (await db.selectFrom('asset').select('id').where('id', 'in', ids).execute()).map(({ id }) => id);

export const findEnvironmentOf = async (db: Queryable, id: string): Promise<string | undefined> => {
  const row = await db.selectFrom('asset').select('environment_id').where('id', '=', id).executeTakeFirst();
  return row?.environment_id;
};

/**
 * Finds the asset and locks it until the transaction ends. `forChild` only prevents its deletion,
 * so that rows that refer to it can be added; `forRemoval` also blocks `forChild`.
 */
export const lockAsset = async (
  tx: Transaction,
  environmentId: string,
  id: string,
  purpose: 'forChild' | 'forRemoval',
): Promise<boolean> => {
  const select = tx.selectFrom('asset').select('id').where('id', '=', id).where('environment_id', '=', environmentId);
  const locked = purpose === 'forChild' ? select.forKeyShare() : select.forUpdate();
  return (await locked.executeTakeFirst()) !== undefined;
};

/** Finds the asset and prevents other changes to it until the transaction ends. */
export const lockAssetForUpdate = (
  tx: Transaction,
  environmentId: string,
  id: string,
): Promise<Row<'asset'> | undefined> =>
  tx
    .selectFrom('asset')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .forNoKeyUpdate()
    .executeTakeFirst();

/** Changes the fields that the owner of an asset can change after its creation. */
export const updateAssetRow = async (
  tx: Transaction,
  id: string,
  change: Omit<Partial<NewRow<'asset'>>, 'meta'> & Partial<Pick<Row<'asset'>, 'meta'>>,
): Promise<void> => {
  await tx
    .updateTable('asset')
    .set({ ...change, meta: change.meta && JSON.stringify(change.meta) })
    .where('id', '=', id)
    .execute();
};

export const saveChapters = async (db: Queryable, id: string, chapters: StoredChapters): Promise<void> => {
  await db
    .updateTable('asset')
    .set({ chapters: JSON.stringify(chapters) })
    .where('id', '=', id)
    .execute();
};

/**
 * Saves the message of the warning that frames were lost. Returns the changed row, or undefined
 * when there is a message already, or the asset was deleted.
 */
export const saveFramesLost = (tx: Transaction, id: string, message: string): Promise<Row<'asset'> | undefined> =>
  tx
    .updateTable('asset')
    .set({ frames_lost: message })
    .where('id', '=', id)
    .where('frames_lost', 'is', null)
    .returningAll()
    .executeTakeFirst();

/** Removes the asset and, by cascade, all rows that belong to it. */
export const removeAsset = async (db: Queryable, id: string): Promise<void> => {
  await db.deleteFrom('asset').where('id', '=', id).execute();
};

/** The sort key of the last row of a list; the next page starts after it. */
export interface ListPosition {
  readonly createdAt: Date;
  readonly seq: number;
}

export interface ListAssetsQuery {
  readonly limit: number;
  /** Rows to skip at the start; ignored if `after` is set. */
  readonly offset: number;
  readonly after?: ListPosition | undefined;
  readonly uploadId?: string | undefined;
  readonly liveStreamId?: string | undefined;
}

/** The query of one page, newest first. */
export const selectAssetPage = (db: Queryable, environmentId: string, query: ListAssetsQuery) => {
  const { after, uploadId, liveStreamId } = query;
  let select = db.selectFrom('asset').selectAll().where('environment_id', '=', environmentId);
  if (uploadId !== undefined) select = select.where('upload_id', '=', uploadId);
  if (liveStreamId !== undefined) select = select.where('live_stream_id', '=', liveStreamId);
  if (after) {
    // A single row comparison can use the index; two comparisons joined by `or` would read every
    // earlier entry.
    select = select.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'seq'), '<', tuple(after.createdAt, after.seq)),
    );
  }
  return select
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(query.limit)
    .offset(after ? 0 : query.offset);
};
