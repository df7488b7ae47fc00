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
export const findVerificationKey = (
  db: Queryable,
  id: string,
): Promise<Pick<Row<'signing_key'>, 'environment_id' | 'public_key'> | undefined> =>
  db.selectFrom('signing_key').select(['environment_id', 'public_key']).where('id', '=', id).executeTakeFirst();

/** False when the environment has no such key. */
export const removeSigningKey = async (db: Queryable, environmentId: string, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom('signing_key')
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};
