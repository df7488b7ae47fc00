import type { Queryable } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

/** The SQLSTATE code. */
const UNIQUE_VIOLATION = '23505';

/** Undefined when the name is taken. */
export const insertEnvironment = (db: Queryable, row: NewRow<'environment'>): Promise<Row<'environment'> | undefined> =>
  db
    .insertInto('environment')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returningAll()
    .executeTakeFirst();

/** Oldest first: the first one is the default environment. */
export const listEnvironments = (db: Queryable): Promise<Row<'environment'>[]> =>
  db.selectFrom('environment').selectAll().orderBy('created_at').orderBy('id').execute();

export const findEnvironment = (db: Queryable, id: string): Promise<Row<'environment'> | undefined> =>
  db.selectFrom('environment').selectAll().where('id', '=', id).executeTakeFirst();

/** Undefined when there is no environment with this id; false when another one has the name. */
export const updateEnvironment = async (
  db: Queryable,
  id: string,
  change: Partial<Pick<Row<'environment'>, 'name' | 'default_video_quality'>>,
): Promise<Row<'environment'> | undefined | false> => {
  try {
    return await db.updateTable('environment').set(change).where('id', '=', id).returningAll().executeTakeFirst();
  } catch (error) {
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return false;
    throw error;
  }
};
