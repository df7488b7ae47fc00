import { sql } from 'kysely';
import type { Queryable, Transaction } from '../database.js';
import type { NewRow, Row } from '../schema.js';

/** What is known of the sound of a further audio track; made when its ingest begins. */
export const openTrackMedia = async (
  db: Queryable,
  track: Pick<Row<'track'>, 'id' | 'asset_id'>,
): Promise<Row<'track_media'>> => {
  const own = { track_id: track.id, source_asset_id: track.asset_id, source_track_id: track.id };
  await db
    .insertInto('track_media')
    .values(own)
    .onConflict((conflict) => conflict.column('track_id').doNothing())
    .execute();
  return db.selectFrom('track_media').selectAll().where('track_id', '=', track.id).executeTakeFirstOrThrow();
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

/** True while a track, the track itself or one of a clip, plays the file of this one. */
export const isTrackSourceUsed = async (db: Queryable, trackId: string): Promise<boolean> =>
  (await db
    .selectFrom('track_media')
    .select('track_id')
    .where('source_track_id', '=', trackId)
    .limit(1)
    .executeTakeFirst()) !== undefined;
