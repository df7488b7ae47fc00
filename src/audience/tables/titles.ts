import { sql } from 'kysely';
import type { Queryable } from '../../db/database.js';

type Titles = ReadonlyMap<string, string | null>;

/** The titles of those of the IDs that exist; null without a title. */
const find = async (db: Queryable, table: 'asset' | 'live_stream', ids: readonly string[]): Promise<Titles> => {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; title: string | null }>`
    select id, meta->>'title' as title from ${sql.table(table)} where id = any(${ids})`.execute(db);
  return new Map(rows.map(({ id, title }) => [id, title]));
};

export const findAssetTitles = (db: Queryable, ids: readonly string[]): Promise<Titles> => find(db, 'asset', ids);
export const findLiveStreamTitles = (db: Queryable, ids: readonly string[]): Promise<Titles> =>
  find(db, 'live_stream', ids);

export const findErrors = async (
  db: Queryable,
  ids: readonly number[],
): Promise<{ id: number; code: string; message: string }[]> =>
  ids.length === 0
    ? []
    : db.selectFrom('view_error').select(['id', 'code', 'message']).where('id', 'in', ids).execute();
