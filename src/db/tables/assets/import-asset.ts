import type { Queryable, Transaction } from '../../database.js';
import type { Borrowed, MainTrackIds, Row } from '../../schema.js';

export type ImportRow = Row<'import_asset'>;

export interface ImportChange {
  readonly asset_id: string;
  readonly environment_id: string;
  readonly source_url: string;
  readonly state: ImportRow['state'];
  /** Kept when absent. */
  readonly borrowed?: Borrowed | null;
  /** Kept when absent. */
  readonly main_tracks?: MainTrackIds;
  readonly updated_at: Date;
}

/** Inserts the row or changes it. */
export const saveImport = async (db: Queryable, change: ImportChange): Promise<void> => {
  const { borrowed, main_tracks: mainTracks, ...columns } = change;
  const changed = {
    ...columns,
    ...(borrowed !== undefined && { borrowed: borrowed && JSON.stringify(borrowed) }),
    ...(mainTracks !== undefined && { main_tracks: JSON.stringify(mainTracks) }),
  };
  await db
    .insertInto('import_asset')
    .values({ borrowed: null, main_tracks: null, ...changed })
    .onConflict((conflict) => conflict.column('asset_id').doUpdateSet(changed))
    .execute();
};

export const findImport = (db: Queryable, assetId: string): Promise<ImportRow | undefined> =>
  db.selectFrom('import_asset').selectAll().where('asset_id', '=', assetId).executeTakeFirst();

/**
 * Imports that still have to undo a change at their source; at most `limit`, in the order of their
 * IDs.
 */
export const listBorrowing = (
  db: Queryable,
  sourceUrl: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<ImportRow[]> =>
  db
    .selectFrom('import_asset')
    .selectAll()
    .where('source_url', '=', sourceUrl)
    .where('borrowed', 'is not', null)
    .where('asset_id', '>', after)
    .orderBy('asset_id')
    .limit(limit)
    .execute();

/** Undefined unless the asset is imported. */
export const findMainTrackIds = async (db: Queryable, assetId: string): Promise<MainTrackIds | undefined> =>
  (await findImport(db, assetId))?.main_tracks ?? undefined;

/** Brings an errored asset back to where its ingest begins. */
export const resetErroredAsset = async (tx: Transaction, assetId: string): Promise<void> => {
  await tx
    .updateTable('asset')
    .set({ status: 'preparing', progress_state: 'ingesting', progress: 0, error: null })
    .where('id', '=', assetId)
    .where('status', '=', 'errored')
    .execute();
  await tx
    .updateTable('static_rendition')
    .set({ status: 'preparing', progress: 0, error: null })
    .where('asset_id', '=', assetId)
    .where('status', '=', 'errored')
    .execute();
};

/** Replaces the URL that an input is downloaded from. */
export const replaceInput = async (
  tx: Transaction,
  assetId: string,
  { position, settings }: { readonly position: number; readonly settings: object },
): Promise<void> => {
  await tx
    .updateTable('asset_input')
    .set({ settings: JSON.stringify(settings) })
    .where('asset_id', '=', assetId)
    .where('position', '=', position)
    .execute();
};

/**
 * Makes an errored or preparing track fetch its file again, from another URL. False when it is
 * ready or gone.
 */
export const restartTrack = async (tx: Transaction, trackId: string, url: string): Promise<boolean> => {
  const result = await tx
    .updateTable('track')
    .set({ status: 'preparing', error: null, url, source_validator: null })
    .where('id', '=', trackId)
    .where('status', '!=', 'ready')
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
};
