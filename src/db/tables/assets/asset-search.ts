import { type RawBuilder, sql } from 'kysely';
import { isId } from '../../../lib/ids.js';
import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';
import { type AssetViewRow, listViewsOf } from './asset-view.js';

export const sortColumns = ['created_at', 'title', 'duration'] as const;

export interface AssetSearch {
  readonly limit: number;
  /** Rows to skip at the start. */
  readonly offset: number;
  readonly status: Row<'asset'>['status'] | undefined;
  /** Assets that have a playback ID with this policy. */
  readonly policy: Row<'playback_id'>['policy'] | undefined;
  /** A part of the title in any case, or the whole ID of an asset or of a playback ID. */
  readonly text: string | undefined;
  readonly sortBy: (typeof sortColumns)[number];
  readonly isDescending: boolean;
}

/** The expressions of the indexes, literally: another spelling would sort the whole table. */
const SORT_KEYS: Readonly<Record<AssetSearch['sortBy'], RawBuilder<unknown>>> = {
  created_at: sql`created_at`,
  title: sql`left(lower(meta ->> 'title'), 100)`,
  duration: sql`coalesce(duration_seconds, -1)`,
};

const orderOf = ({ sortBy, isDescending }: AssetSearch): RawBuilder<unknown> => {
  const direction = isDescending ? sql`desc` : sql`asc`;
  return sql`${SORT_KEYS[sortBy]} ${direction}, seq ${direction}`;
};

const matching = (db: Queryable, environmentId: string, { status, policy, text }: AssetSearch) => {
  let select = db.selectFrom('asset').where('environment_id', '=', environmentId);
  if (status !== undefined) select = select.where('status', '=', status);
  if (policy !== undefined) {
    select = select.where(
      sql<boolean>`exists (select from playback_id where asset_id = asset.id and policy = ${policy})`,
    );
  }
  if (text === undefined) return select;
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
  const isTitle = sql<boolean>`meta ->> 'title' ilike ${pattern}`;
  if (!isId(text)) return select.where(isTitle);
  return select.where(
    sql<boolean>`(${isTitle} or id = ${text} or id = (select asset_id from playback_id where id = ${text}))`,
  );
};

/** One page, in the order of the search. */
export const listFoundAssets = (db: Queryable, environmentId: string, search: AssetSearch): Promise<AssetViewRow[]> => {
  const order = orderOf(search);
  const page = matching(db, environmentId, search).selectAll().orderBy(order).limit(search.limit).offset(search.offset);
  return listViewsOf(db, page, order);
};

export const countFoundAssets = async (db: Queryable, environmentId: string, search: AssetSearch): Promise<number> => {
  const { count } = await matching(db, environmentId, search)
    .select(sql<number>`count(*)::int`.as('count'))
    .executeTakeFirstOrThrow();
  return count;
};

/** The titles of those of the assets that have one. */
export const findTitles = (
  db: Queryable,
  environmentId: string,
  assetIds: readonly string[],
): Promise<{ id: string; title: string }[]> =>
  db
    .selectFrom('asset')
    .select(['id', sql<string>`meta ->> 'title'`.as('title')])
    .where('environment_id', '=', environmentId)
    .where(sql<boolean>`id = any(${sql.val(assetIds)}::text[])`)
    .where(sql<boolean>`meta ->> 'title' <> ''`)
    .execute();
