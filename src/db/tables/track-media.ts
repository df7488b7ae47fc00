import { sql } from 'kysely';
import type { Queryable, Transaction } from '../database.js';
import type { NewRow, Row } from '../schema.js';

/** What is known of the sound of a further audio track; made when its ingest begins. Undefined when it was deleted. */
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

/** How the sound is cut; when the track becomes ready. */
export const saveTrackPlan = async (tx: Transaction, trackId: string, plan: object): Promise<void> => {
  await tx
    .updateTable('track_media')
    .set({ plan: JSON.stringify(plan) })
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

/** Of a clip: its tracks play the files of others. */
export const insertTrackMedia = async (tx: Transaction, row: NewRow<'track_media'>): Promise<void> => {
  await tx.insertInto('track_media').values(row).execute();
};

/** True while the track is there, and afterwards while a clip has a track of the same file. */
export const areTrackFilesNeeded = async (db: Queryable, trackId: string): Promise<boolean> => {
  const { rows } = await sql<{ needed: boolean }>`
    select exists (select from track where id = ${trackId})
      or exists (select from track_media where source_track_id = ${trackId}) as needed`.execute(db);
  return rows[0]!.needed;
};
