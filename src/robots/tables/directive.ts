import type { Queryable, Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';

type Directive = Row<'directive'>;

export const insertDirective = (
  db: Queryable,
  { resources, workflows, ...row }: Omit<Directive, 'seq' | 'deleted_at'>,
): Promise<Directive> =>
  db
    .insertInto('directive')
    .values({ ...row, resources: JSON.stringify(resources), workflows: JSON.stringify(workflows) })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Undefined when the environment has no such directive or it was deleted. */
export const findDirective = (db: Queryable, environmentId: string, id: string): Promise<Directive | undefined> =>
  db
    .selectFrom('directive')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();

/** Also finds deleted directives, which active runs still need. */
export const findDirectiveById = (db: Queryable, id: string): Promise<Directive | undefined> =>
  db.selectFrom('directive').selectAll().where('id', '=', id).executeTakeFirst();

/** Returns those of the ids that are directives of the environment. */
export const findDirectiveIds = async (
  db: Queryable,
  environmentId: string,
  ids: readonly string[],
): Promise<Set<string>> => {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('directive')
    .select('id')
    .where('environment_id', '=', environmentId)
    .where('id', 'in', ids)
    .where('deleted_at', 'is', null)
    .execute();
  return new Set(rows.map(({ id }) => id));
};

/** Newest first. */
export const listDirectives = (
  db: Queryable,
  environmentId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<Directive[]> =>
  db
    .selectFrom('directive')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .where('deleted_at', 'is', null)
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();

export const countDirectives = async (db: Queryable, environmentId: string): Promise<number> => {
  const { count } = await db
    .selectFrom('directive')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('environment_id', '=', environmentId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
};

/** False when the environment has no such directive. */
export const markDirectiveDeleted = async (
  db: Queryable,
  environmentId: string,
  id: string,
  deletedAt: Date,
): Promise<boolean> => {
  const result = await db
    .updateTable('directive')
    .set({ deleted_at: deletedAt })
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
};

/** Removes deleted directives that have no runs left. */
export const removeUnusedDirectives = async (tx: Transaction): Promise<void> => {
  await tx
    .deleteFrom('directive')
    .where('deleted_at', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('directive_run').select('id').whereRef('directive_id', '=', 'directive.id'))),
    )
    .execute();
};
