import type { Queryable } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';

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

/** Undefined when there is no environment with this id. */
export const updateEnvironment = (
  db: Queryable,
  id: string,
  change: Pick<Row<'environment'>, 'default_video_quality'>,
): Promise<Row<'environment'> | undefined> =>
  db.updateTable('environment').set(change).where('id', '=', id).returningAll().executeTakeFirst();
