import { sql } from 'kysely';
import type { Queryable, Transaction } from '../../db/database.js';
import type { NewRow, RobotsJobStatus, Row } from '../../db/schema.js';

type Job = Row<'robots_job'>;

const ACTIVE = ['pending', 'processing'] as const;

export const insertRobotsJob = (db: Queryable, row: NewRow<'robots_job'>): Promise<Job> =>
  db.insertInto('robots_job').values(row).returningAll().executeTakeFirstOrThrow();

export const findRobotsJob = (db: Queryable, environmentId: string, id: string): Promise<Job | undefined> =>
  db
    .selectFrom('robots_job')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Searches all environments, for the server's own work. */
export const findRobotsJobById = (db: Queryable, id: string): Promise<Job | undefined> =>
  db.selectFrom('robots_job').selectAll().where('id', '=', id).executeTakeFirst();

/** Locks the job until the transaction ends. */
export const lockRobotsJob = (tx: Transaction, id: string): Promise<Job | undefined> =>
  tx.selectFrom('robots_job').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();

/** Finds the job fields that a run needs, for several jobs. */
export const findRobotsJobs = (
  db: Queryable,
  ids: readonly string[],
): Promise<Pick<Job, 'id' | 'status' | 'outputs'>[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : db.selectFrom('robots_job').select(['id', 'status', 'outputs']).where('id', 'in', ids).execute();

/** Finds a job of the same workflow with equal parameters that has not ended. */
export const findEquivalentJob = (
  db: Queryable,
  { asset_id, workflow, parameters }: Pick<Job, 'asset_id' | 'workflow' | 'parameters'>,
): Promise<{ id: string } | undefined> =>
  db
    .selectFrom('robots_job')
    .select('id')
    .where('asset_id', '=', asset_id)
    .where('workflow', '=', workflow)
    .where('status', 'in', ACTIVE)
    // `parameters` is jsonb, so the order of its fields does not matter.
    .where('parameters', '=', JSON.stringify(parameters) as never)
    .executeTakeFirst();

export const listActiveJobsOfAsset = (db: Queryable, assetId: string): Promise<Job[]> =>
  db
    .selectFrom('robots_job')
    .selectAll()
    .where('asset_id', '=', assetId)
    .where('status', 'in', ACTIVE)
    .orderBy('seq')
    .execute();

/** Takes the waiting jobs of the asset; each job is returned to only one caller. */
export const takeWaitingJobs = async (tx: Transaction, assetId: string): Promise<string[]> => {
  const rows = await tx
    .updateTable('robots_job')
    .set({ waiting: false })
    .where('asset_id', '=', assetId)
    .where('waiting', '=', true)
    .where('status', '=', 'processing')
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
};

export const markJobWaiting = async (tx: Transaction, id: string): Promise<void> => {
  await tx
    .updateTable('robots_job')
    .set({ waiting: true })
    .where('id', '=', id)
    .where('status', '=', 'processing')
    .execute();
};

type Change = Partial<Pick<NewRow<'robots_job'>, 'outputs' | 'files' | 'error'>> & {
  readonly status: RobotsJobStatus;
  readonly updated_at: Date;
};

/**
 * Changes a job that is in one of the states `from`. Undefined when it is in another state.
 * Terminal states are final.
 */
export const updateRobotsJob = (
  tx: Transaction,
  id: string,
  from: readonly RobotsJobStatus[],
  change: Change,
): Promise<Job | undefined> =>
  tx
    .updateTable('robots_job')
    .set(change)
    .where('id', '=', id)
    .where('status', 'in', from)
    .returningAll()
    .executeTakeFirst();

/** Adds to the recorded prompts of a job. */
export const addPrompt = async (db: Queryable, id: string, prompt: Record<string, number>): Promise<void> => {
  await sql`
    update robots_job set prompts = coalesce(prompts, '{}') || ${JSON.stringify(prompt)}::jsonb where id = ${id}
  `.execute(db);
};

export interface RobotsJobFilter {
  readonly workflow?: string | undefined;
  readonly status?: RobotsJobStatus | undefined;
  readonly assetId?: string | undefined;
}

const selectJobs = (db: Queryable, environmentId: string, { workflow, status, assetId }: RobotsJobFilter) => {
  let select = db.selectFrom('robots_job').where('environment_id', '=', environmentId);
  if (workflow !== undefined) select = select.where('workflow', '=', workflow);
  if (status !== undefined) select = select.where('status', '=', status);
  if (assetId !== undefined) select = select.where('asset_id', '=', assetId);
  return select;
};

/** Newest first. */
export const listRobotsJobs = (
  db: Queryable,
  environmentId: string,
  { limit, offset, ...filter }: RobotsJobFilter & { readonly limit: number; readonly offset: number },
): Promise<Job[]> =>
  selectJobs(db, environmentId, filter).selectAll().orderBy('seq', 'desc').limit(limit).offset(offset).execute();

export const countRobotsJobs = async (
  db: Queryable,
  environmentId: string,
  filter: RobotsJobFilter,
): Promise<number> => {
  const { count } = await selectJobs(db, environmentId, filter)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
};

/**
 * Removes up to `limit` ended jobs created before `before`; returns them so that the caller can
 * delete their files.
 */
export const deleteOldRobotsJobs = (
  db: Queryable,
  before: Date,
  limit: number,
): Promise<Pick<Job, 'id' | 'asset_id' | 'new_track_id'>[]> =>
  db
    .deleteFrom('robots_job')
    .where('id', 'in', (select) =>
      select
        .selectFrom('robots_job')
        .select('id')
        .where('created_at', '<', before)
        .where('status', 'not in', ACTIVE)
        .limit(limit),
    )
    .returning(['id', 'asset_id', 'new_track_id'])
    .execute();
