import type { Queryable, Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';

type Run = Row<'directive_run'>;

/** Inserts a run that has not yet received any of the resources it waits for. */
export const insertRun = (
  db: Queryable,
  { nodes, resources, ...row }: Omit<Run, 'seq' | 'status' | 'completed_at' | 'deadline_at'>,
): Promise<Run> =>
  db
    .insertInto('directive_run')
    .values({
      ...row,
      nodes: JSON.stringify(nodes),
      resources: JSON.stringify(resources),
      completed_at: null,
      deadline_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Locks the run until the transaction ends, so that only one step runs at a time. */
export const lockRun = (tx: Transaction, id: string): Promise<Run | undefined> =>
  tx.selectFrom('directive_run').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();

export const saveRun = (
  tx: Transaction,
  { id, status, completed_at, deadline_at, nodes, resources }: Run,
): Promise<Run> =>
  tx
    .updateTable('directive_run')
    .set({
      status,
      completed_at,
      deadline_at,
      nodes: JSON.stringify(nodes),
      resources: JSON.stringify(resources),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

export const findRun = (db: Queryable, directiveId: string, id: string): Promise<Run | undefined> =>
  db
    .selectFrom('directive_run')
    .selectAll()
    .where('id', '=', id)
    .where('directive_id', '=', directiveId)
    .executeTakeFirst();

/** Newest first. */
export const listRuns = (
  db: Queryable,
  directiveId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<Run[]> =>
  db
    .selectFrom('directive_run')
    .selectAll()
    .where('directive_id', '=', directiveId)
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();

export const countRuns = async (db: Queryable, directiveId: string): Promise<number> => {
  const { count } = await db
    .selectFrom('directive_run')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('directive_id', '=', directiveId)
    .executeTakeFirstOrThrow();
  return Number(count);
};

/** Lists the runs on an asset that have not ended. */
export const listActiveRunIds = async (db: Queryable, assetId: string): Promise<string[]> => {
  const rows = await db
    .selectFrom('directive_run')
    .select('id')
    .where('asset_id', '=', assetId)
    .where('completed_at', 'is', null)
    .orderBy('seq')
    .execute();
  return rows.map(({ id }) => id);
};

/** Removes ended runs that started before `before`. */
export const deleteOldRuns = async (tx: Transaction, before: Date): Promise<void> => {
  await tx.deleteFrom('directive_run').where('started_at', '<', before).where('completed_at', 'is not', null).execute();
};
