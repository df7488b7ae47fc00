import type { Queryable } from '../../db/database.js';
import type { NewRow, Row } from '../../db/schema.js';
import type { Window } from '../../domain/usage/list-delivery-usage.js';
import { dateAt } from './filter-views.js';

type Annotation = Row<'annotation'>;

export const insertAnnotation = (db: Queryable, row: NewRow<'annotation'>): Promise<Annotation> =>
  db.insertInto('annotation').values(row).returningAll().executeTakeFirstOrThrow();

const inTimeframe = (db: Queryable, environmentId: string, [start, end]: Window) =>
  db
    .selectFrom('annotation')
    .where('environment_id', '=', environmentId)
    .where('date', '>=', dateAt(start))
    .where('date', '<', dateAt(end));

/** By their date. */
export const listAnnotations = (
  db: Queryable,
  environmentId: string,
  timeframe: Window,
  { limit, offset, direction }: { readonly limit: number; readonly offset: number; readonly direction: 'asc' | 'desc' },
): Promise<Annotation[]> =>
  inTimeframe(db, environmentId, timeframe)
    .selectAll()
    .orderBy('date', direction)
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute();

export const countAnnotations = async (db: Queryable, environmentId: string, timeframe: Window): Promise<number> => {
  const { count } = await inTimeframe(db, environmentId, timeframe)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
};

/** Undefined when the environment has no such annotation. */
export const findAnnotation = (db: Queryable, environmentId: string, id: string): Promise<Annotation | undefined> =>
  db
    .selectFrom('annotation')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Undefined when the environment has no such annotation. */
export const updateAnnotation = (
  db: Queryable,
  environmentId: string,
  id: string,
  change: Pick<Annotation, 'date' | 'note' | 'sub_property_id'>,
): Promise<Annotation | undefined> =>
  db
    .updateTable('annotation')
    .set(change)
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .returningAll()
    .executeTakeFirst();

/** False when the environment has no such annotation. */
export const removeAnnotation = async (db: Queryable, environmentId: string, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom('annotation')
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};
