import { type Nullable, sql } from 'kysely';
import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

/** What is known of an alternate audio track; made when its ingest begins. Undefined when it was deleted. */
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

/** How the audio is cut; when the track becomes ready. */
export const saveTrackPlan = async (tx: Transaction, trackId: string, plan: object, joined: boolean): Promise<void> => {
  await tx
    .updateTable('track_media')
    .set({ plan: JSON.stringify(plan), joined })
    .where('track_id', '=', trackId)
    .execute();
};

/** Counts one death of a media process on this file and returns the new total. */
export const countTrackCrash = async (db: Queryable, trackId: string): Promise<number> => {
  const row = await db
    .updateTable('track_media')
    .set({ crashes: sql`crashes + 1` })
    .where('track_id', '=', trackId)
    .returning('crashes')
    .executeTakeFirst();
  return row?.crashes ?? 0;
};

/** A track of a clip: it plays or copies the file of another one. */
export const insertTrackMedia = async (tx: Transaction, row: NewRow<'track_media'>): Promise<void> => {
  await tx.insertInto('track_media').values(row).execute();
};

/** What a track has beside the file of the source of its asset. */
export type TrackWithMedia = Row<'track'> & Nullable<Row<'track_media'>>;

/** The text and alternate audio tracks that are ready, in order of creation, held against deletion until the transaction ends. */
export const holdReadyTracks = (tx: Transaction, assetId: string): Promise<TrackWithMedia[]> =>
  tx
    .selectFrom('track')
    .leftJoin('track_media', 'track_media.track_id', 'track.id')
    .selectAll(['track', 'track_media'])
    .where('track.asset_id', '=', assetId)
    .where('track.status', '=', 'ready')
    .where((of) => of.or([of('track.type', '=', 'text'), of('track_media.plan', 'is not', null)]))
    .orderBy('track.seq')
    .forKeyShare('track')
    .execute();

/** What an alternate audio track is read from; undefined while there is no plan of it. */
export const findTrackAudio = (db: Queryable, trackId: string): Promise<Row<'track_media'> | undefined> =>
  db
    .selectFrom('track_media')
    .selectAll()
    .where('track_id', '=', trackId)
    .where('plan', 'is not', null)
    .executeTakeFirst();

/** Whose files the tracks of an asset play beside their own. */
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

/** True while the track is there, and afterwards while a clip has a track of the same file. */
export const areTrackFilesNeeded = async (db: Queryable, trackId: string): Promise<boolean> => {
  const { rows } = await sql<{ needed: boolean }>`
    select exists (select from track where id = ${trackId})
      or exists (select from track_media where source_track_id = ${trackId}) as needed`.execute(db);
  return rows[0]!.needed;
};
