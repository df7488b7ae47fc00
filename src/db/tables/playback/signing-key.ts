import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

export const insertSigningKey = (db: Queryable, row: NewRow<'signing_key'>): Promise<Row<'signing_key'>> =>
  db.insertInto('signing_key').values(row).returningAll().executeTakeFirstOrThrow();

/** Oldest first. */
export const listSigningKeys = (
  db: Queryable,
  environmentId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<Row<'signing_key'>[]> =>
  db
    .selectFrom('signing_key')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('seq')
    .limit(page.limit)
    .offset(page.offset)
    .execute();

export const findSigningKey = (
  db: Queryable,
  environmentId: string,
  id: string,
): Promise<Row<'signing_key'> | undefined> =>
  db
    .selectFrom('signing_key')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Searches all environments: the claims of a token name the key that signed it. */
export const findVerificationKeys = (
  db: Queryable,
  ids: readonly string[],
): Promise<Pick<Row<'signing_key'>, 'id' | 'environment_id' | 'public_key'>[]> =>
  db
    .selectFrom('signing_key')
    .select(['id', 'environment_id', 'public_key'])
    .where(sql<boolean>`id = any(${sql.val(ids)}::text[])`)
    .execute();

/** False when the environment has no such key. */
export const removeSigningKey = async (db: Queryable, environmentId: string, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom('signing_key')
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};
