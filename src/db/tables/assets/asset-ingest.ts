import { sql, type UpdateObject } from 'kysely';
import type { Queryable } from '../../database.js';
import type { EarlyPlayback, NewRow, Row, Schema } from '../../schema.js';

/** The rows of an asset that the ingest job works on. */
export interface IngestRow {
  readonly asset: Row<'asset'>;
  readonly media: Row<'asset_media'>;
  readonly mainInput: Row<'asset_input'>;
  readonly otherInputs: readonly Row<'asset_input'>[];
}

/** Undefined when the asset was deleted. */
export const findIngest = async (db: Queryable, assetId: string): Promise<IngestRow | undefined> => {
  const asset = await db.selectFrom('asset').selectAll().where('id', '=', assetId).executeTakeFirst();
  const media = await db.selectFrom('asset_media').selectAll().where('asset_id', '=', assetId).executeTakeFirst();
  const [mainInput, ...otherInputs] = await db
    .selectFrom('asset_input')
    .selectAll()
    .where('asset_id', '=', assetId)
    .orderBy('position')
    .execute();
  return asset && media && mainInput ? { asset, media, mainInput, otherInputs } : undefined;
};

/**
 * Saves the results of an ingest step, so that ingest continues after it on a restart. False when
 * the asset was deleted.
 */
export const saveMedia = async (
  db: Queryable,
  assetId: string,
  media: { facts?: object; plan?: object },
): Promise<boolean> => {
  const result = await db
    .updateTable('asset_media')
    .set({
      facts: media.facts && JSON.stringify(media.facts),
      plan: media.plan && JSON.stringify(media.plan),
    })
    .where('asset_id', '=', assetId)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
};

export const saveSourceValidator = async (db: Queryable, assetId: string, validator: string | null): Promise<void> => {
  await db.updateTable('asset_media').set({ source_validator: validator }).where('asset_id', '=', assetId).execute();
};

/** Counts a crash of a media process on this source and returns the new total. */
export const countCrash = async (db: Queryable, assetId: string): Promise<number> => {
  const row = await db
    .updateTable('asset_media')
    .set({ crashes: sql`crashes + 1` })
    .where('asset_id', '=', assetId)
    .returning('crashes')
    .executeTakeFirst();
  return row?.crashes ?? 0;
};

/**
 * Changes an asset only while it is preparing; `ready` and `errored` are final. Returns the changed
 * row, or undefined when nothing was changed.
 */
export const updatePreparing = (
  db: Queryable,
  assetId: string,
  change: Partial<NewRow<'asset'>>,
): Promise<Row<'asset'> | undefined> =>
  db
    .updateTable('asset')
    .set(change)
    .where('id', '=', assetId)
    .where('status', '=', 'preparing')
    .returningAll()
    .executeTakeFirst();

/** Keeps the time at which a live stream made its asset ready. */
export const firstReadyAt = (now: Date) => sql<Date>`coalesce(ready_at, ${now}::timestamptz)`;

/**
 * The same for an asset whose ingest has not ended: it is preparing, or it is the recording of a
 * live stream, which was ready before its end.
 */
export const updateUnfinished = (
  db: Queryable,
  assetId: string,
  change: UpdateObject<Schema, 'asset'>,
): Promise<Row<'asset'> | undefined> =>
  db
    .updateTable('asset')
    .set(change)
    .where('id', '=', assetId)
    .where(
      sql<boolean>`(status = 'preparing' or (status = 'ready' and progress_state in ('ingesting', 'transcoding')))`,
    )
    .returningAll()
    .executeTakeFirst();

/** Saves what probing found in the input at `position`; the main input is at 0. */
export const saveInputFile = async (db: Queryable, assetId: string, file: object, position = 0): Promise<void> => {
  await db
    .updateTable('asset_input')
    .set({ file: JSON.stringify(file) })
    .where('asset_id', '=', assetId)
    .where('position', '=', position)
    .execute();
};

/** Saves it for the main input. */
export const saveEarlyPlayback = async (db: Queryable, assetId: string, early: EarlyPlayback): Promise<void> => {
  await db
    .updateTable('asset_input')
    .set({ early_playback: JSON.stringify(early) })
    .where('asset_id', '=', assetId)
    .where('position', '=', 0)
    .execute();
};
