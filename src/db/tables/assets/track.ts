import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

/** Lists the tracks of several assets; those of one asset are in creation order. */
export const listTracks = async (db: Queryable, assetIds: readonly string[]): Promise<Row<'track'>[]> =>
  assetIds.length === 0
    ? []
    : db.selectFrom('track').selectAll().where('asset_id', 'in', assetIds).orderBy('seq').execute();

/** Returns the rows in the order given. */
export const insertTracks = async (db: Queryable, tracks: readonly NewRow<'track'>[]): Promise<Row<'track'>[]> =>
  tracks.length === 0
    ? []
    : db
        .insertInto('track')
        .values([...tracks])
        .returningAll()
        .execute();

export const findTrack = (db: Queryable, assetId: string, trackId: string): Promise<Row<'track'> | undefined> =>
  db.selectFrom('track').selectAll().where('id', '=', trackId).where('asset_id', '=', assetId).executeTakeFirst();

/** Searches all assets, for the server's own work. */
export const findTrackById = (db: Queryable, trackId: string): Promise<Row<'track'> | undefined> =>
  db.selectFrom('track').selectAll().where('id', '=', trackId).executeTakeFirst();

/** Changes the fields that the owner of a track can change. */
export const updateTrackRow = (
  tx: Transaction,
  trackId: string,
  change: Pick<Row<'track'>, 'name' | 'language_code' | 'closed_captions' | 'passthrough'>,
): Promise<Row<'track'>> =>
  tx.updateTable('track').set(change).where('id', '=', trackId).returningAll().executeTakeFirstOrThrow();

/** Changes what the file decides. */
export const updateMainTrack = async (tx: Transaction, trackId: string, track: NewRow<'track'>): Promise<void> => {
  const { duration_seconds, max_width, max_height, max_frame_rate, max_channels, max_channel_layout } = track;
  await tx
    .updateTable('track')
    .set({ duration_seconds, max_width, max_height, max_frame_rate, max_channels, max_channel_layout })
    .where('id', '=', trackId)
    .execute();
};

type PreparedChange = Partial<
  Pick<NewRow<'track'>, 'status' | 'error' | 'duration_seconds' | 'max_channels' | 'max_channel_layout'>
>;

/**
 * Changes a track only while it is preparing; `ready` and `errored` are final. Undefined when
 * nothing was changed.
 */
export const updatePreparingTrack = (
  tx: Transaction,
  trackId: string,
  change: PreparedChange,
): Promise<Row<'track'> | undefined> =>
  tx
    .updateTable('track')
    .set(change)
    .where('id', '=', trackId)
    .where('status', '=', 'preparing')
    .returningAll()
    .executeTakeFirst();

/** Saves the language that speech recognition detected, if the language of the track is `auto`. */
export const saveDetectedLanguage = async (
  db: Queryable,
  trackId: string,
  { language, confidence }: { readonly language: string; readonly confidence: number | null },
): Promise<void> => {
  await db
    .updateTable('track')
    .set({ language_code: language, language_confidence: confidence })
    .where('id', '=', trackId)
    .where('status', '=', 'preparing')
    .where('language_code', '=', 'auto')
    .execute();
};

export const saveTrackProgress = async (db: Queryable, trackId: string, progress: number): Promise<void> => {
  await db.updateTable('track').set({ progress }).where('id', '=', trackId).where('status', '=', 'preparing').execute();
};

/** Makes the track the primary audio track. */
export const setPrimary = (tx: Transaction, trackId: string): Promise<Row<'track'>> =>
  tx.updateTable('track').set({ is_primary: true }).where('id', '=', trackId).returningAll().executeTakeFirstOrThrow();

export const saveTrackValidator = async (db: Queryable, trackId: string, validator: string | null): Promise<void> => {
  await db.updateTable('track').set({ source_validator: validator }).where('id', '=', trackId).execute();
};

export const removeTrack = async (tx: Transaction, trackId: string): Promise<void> => {
  await tx.deleteFrom('track').where('id', '=', trackId).execute();
};
