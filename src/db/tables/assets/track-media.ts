import { type Nullable, sql } from 'kysely';
import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

/**
 * Returns the media row of an alternate audio track and creates it if needed, when ingest starts.
 * Undefined when the track was deleted.
 */
export const openTrackMedia = async (
  tx: Transaction,
  track: Pick<Row<'track'>, 'id' | 'asset_id'>,
): Promise<Row<'track_media'> | undefined> => {
  const live = await tx.selectFrom('track').select('id').where('id', '=', track.id).forKeyShare().executeTakeFirst();
  if (!live) return undefined;
  await tx
    .insertInto('track_media')
    .values({ track_id: track.id, source_asset_id: track.asset_id, source_track_id: track.id })
    .onConflict((conflict) => conflict.column('track_id').doNothing())
    .execute();
  return tx.selectFrom('track_media').selectAll().where('track_id', '=', track.id).executeTakeFirstOrThrow();
};

export const saveTrackFacts = async (db: Queryable, trackId: string, facts: object): Promise<void> => {
  await db
    .updateTable('track_media')
    .set({ facts: JSON.stringify(facts) })
    .where('track_id', '=', trackId)
    .execute();
};

/** Saves how the audio is divided into segments; called when the track becomes ready. */
export const saveTrackPlan = async (tx: Transaction, trackId: string, plan: object, joined: boolean): Promise<void> => {
  await tx
    .updateTable('track_media')
    .set({ plan: JSON.stringify(plan), joined })
    .where('track_id', '=', trackId)
    .execute();
};

/** Counts a crash of a media process on this file and returns the new total. */
export const countTrackCrash = async (db: Queryable, trackId: string): Promise<number> => {
  const row = await db
    .updateTable('track_media')
    .set({ crashes: sql`crashes + 1` })
    .where('track_id', '=', trackId)
    .returning('crashes')
    .executeTakeFirst();
  return row?.crashes ?? 0;
};

/** Inserts the media row of a clip's track, which plays or copies the file of another track. */
export const insertTrackMedia = async (tx: Transaction, row: NewRow<'track_media'>): Promise<void> => {
  await tx.insertInto('track_media').values(row).execute();
};

/** A track with its media row, if it has one. */
export type TrackWithMedia = Row<'track'> & Nullable<Row<'track_media'>>;

/**
 * Lists the text and alternate audio tracks that are ready or still preparing in creation order,
 * and prevents their deletion until the transaction ends.
 */
export const holdTracks = (tx: Transaction, assetId: string): Promise<TrackWithMedia[]> =>
  tx
    .selectFrom('track')
    .leftJoin('track_media', 'track_media.track_id', 'track.id')
    .selectAll(['track', 'track_media'])
    .where('track.asset_id', '=', assetId)
    .where((of) =>
      of.or([
        of('track.status', '=', 'preparing').and('track.type', '!=', 'video'),
        of('track.status', '=', 'ready').and(
          of.or([of('track.type', '=', 'text'), of('track_media.plan', 'is not', null)]),
        ),
      ]),
    )
    .orderBy('track.seq')
    .forKeyShare('track')
    .execute();

/** Finds the media row of an alternate audio track. Undefined until its plan is saved. */
export const findTrackAudio = (db: Queryable, trackId: string): Promise<Row<'track_media'> | undefined> =>
  db
    .selectFrom('track_media')
    .selectAll()
    .where('track_id', '=', trackId)
    .where('plan', 'is not', null)
    .executeTakeFirst();

/** Lists the files of other tracks that the asset's tracks play. */
export const listBorrowedFiles = async (
  db: Queryable,
  assetId: string,
): Promise<{ trackId: string; assetId: string; borrower: string }[]> =>
  db
    .selectFrom('track')
    .innerJoin('track_media', 'track_media.track_id', 'track.id')
    .select(['source_track_id as trackId', 'source_asset_id as assetId', 'track.id as borrower'])
    .where('track.asset_id', '=', assetId)
    .whereRef('source_track_id', '<>', 'track.id')
    .execute();

/** True while the track exists, and after that while a track of a clip uses its file. */
export const areTrackFilesNeeded = async (db: Queryable, trackId: string): Promise<boolean> => {
  const { rows } = await sql<{ needed: boolean }>`
    select exists (select from track where id = ${trackId})
      or exists (select from track_media where source_track_id = ${trackId}) as needed`.execute(db);
  return rows[0]!.needed;
};
