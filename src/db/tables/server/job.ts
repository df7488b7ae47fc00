import { type RawBuilder, sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { JobError, Row } from '../../schema.js';

/** NOTIFY channels; the payload is the name of the queue or the id of the job. */
export const JOB_READY = 'kinora_job_ready';
export const JOB_CANCEL = 'kinora_job_cancel';

export type JobRow = Row<'job'>;

export interface NewJob {
  readonly queue: string;
  readonly payload: unknown;
  readonly key: string | undefined;
  readonly priority: number;
  readonly runAt: Date | undefined;
  readonly maxAttempts: number;
}

const milliseconds = (value: number): RawBuilder<Date> => sql<Date>`${value} * interval '1 millisecond'`;

/**
 * Inserts the job, or finds the live job with the same key. Runners are notified when the
 * transaction commits.
 */
export const enqueueJob = async (db: Queryable, job: NewJob): Promise<string> => {
  for (;;) {
    const { rows } = await sql<{ id: string }>`
      insert into job (queue, key, payload, priority, run_at, max_attempts)
      values (${job.queue}, ${job.key ?? null}, ${JSON.stringify(job.payload ?? null)}, ${job.priority},
        coalesce(${job.runAt ?? null}::timestamptz, now()), ${job.maxAttempts})
      on conflict (queue, key) where key is not null and state in ('queued', 'active') and not cancel do nothing
      returning id, pg_notify(${JOB_READY}, queue)`.execute(db);
    if (rows[0]) return rows[0].id;
    const live = await db
      .selectFrom('job')
      .select('id')
      .where('queue', '=', job.queue)
      .where('key', '=', job.key ?? null)
      .where('state', 'in', ['queued', 'active'])
      .where('cancel', '=', false)
      .executeTakeFirst();
    // If there is no live job, it ended between the two statements and the key is free again.
    if (live) return live.id;
  }
};

/** Cancels a queued job and asks the runner of an active job to stop. */
export const cancelJob = async (db: Queryable, queue: string, key: string): Promise<void> => {
  await sql`
    update job set
      cancel = true,
      state = case when state = 'queued' then 'cancelled' else state end,
      finished_at = case when state = 'queued' then now() end
    where queue = ${queue} and key = ${key} and state in ('queued', 'active') and not cancel
    returning pg_notify(${JOB_CANCEL}, id::text)`.execute(db);
};

/**
 * Returns the queues of the list that have a due job. One statement for all of them, because most
 * are usually empty.
 */
export const listDueQueues = async (db: Queryable, queues: readonly string[], now: Date): Promise<string[]> => {
  const { rows } = await sql<{ queue: string }>`
    select queue from unnest(${queues}::text[]) as listed (queue)
    where exists (
      select from job
      where job.queue = listed.queue and state = 'queued' and run_at <= greatest(now(), ${now}::timestamptz)
    )`.execute(db);
  return rows.map(({ queue }) => queue);
};

/**
 * Takes the next job of a queue. If `now` is ahead of the server's clock, as in tests, delayed jobs
 * become due earlier; if it is behind, it has no effect. The row lock is in a materialized step
 * because a plain subquery may be evaluated twice.
 */
export const claimJob = async (
  db: Queryable,
  queue: string,
  lease: { worker: string; leaseMs: number; now: Date },
): Promise<JobRow | undefined> => {
  const { rows } = await sql<JobRow>`
    with next as materialized (
      select id from job
      where queue = ${queue} and state = 'queued' and run_at <= greatest(now(), ${lease.now}::timestamptz)
        and not exists (
          select from job ending
          where ending.queue = job.queue and ending.key = job.key and ending.state = 'active' and ending.cancel
        )
      order by priority desc, run_at, seq
      limit 1
      for update skip locked
    )
    update job set
      state = 'active',
      worker = ${lease.worker},
      lease_id = gen_random_uuid(),
      lease_until = now() + ${milliseconds(lease.leaseMs)},
      attempt = attempt + (not failing)::int
    from next
    where job.id = next.id and job.state = 'queued'
    returning job.*`.execute(db);
  return rows[0];
};

/**
 * Extends the leases that are still held, and returns for each whether its job is to be cancelled.
 */
export const renewLeases = async (
  db: Queryable,
  leaseIds: readonly string[],
  leaseMs: number,
): Promise<{ lease_id: string; cancel: boolean }[]> => {
  const { rows } = await sql<{ lease_id: string; cancel: boolean }>`
    update job set lease_until = now() + ${milliseconds(leaseMs)}
    where state = 'active' and lease_id = any(${leaseIds}::uuid[])
    returning lease_id, cancel`.execute(db);
  return rows;
};

/**
 * Takes back the jobs whose lease has expired, or all active jobs if no worker can exist. A job
 * that was lost too often is queued once more, marked as `failing`, so that a runner handles its
 * failure. Returns the number of jobs.
 */
export const reapJobs = async (db: Queryable, error: JobError, maxLosses: number, all = false): Promise<number> => {
  const { rows } = await sql<{ id: string }>`
    update job set
      state = case when cancel then 'cancelled' else 'queued' end,
      finished_at = case when cancel then now() end,
      failing = failing or losses + 1 >= ${maxLosses},
      losses = losses + (not failing)::int,
      error = case when failing then error else ${JSON.stringify(error)}::jsonb end,
      run_at = now(),
      worker = null, lease_id = null, lease_until = null
    where state = 'active' and (${all} or lease_until < now())
    returning id, pg_notify(${JOB_READY}, queue)`.execute(db);
  return rows.length;
};

/**
 * Changes an active job on behalf of its lease holder. @returns false, without a change, when the
 * lease is lost
 */
const changeLeased = async (db: Queryable, leaseId: string, change: RawBuilder<unknown>): Promise<boolean> => {
  const { rows } = await sql`
    update job set ${change} where state = 'active' and lease_id = ${leaseId} returning pg_notify(${JOB_READY}, queue)
  `.execute(db);
  return rows.length > 0;
};

const noLease = sql`worker = null, lease_id = null, lease_until = null`;

export const finishJob = (db: Queryable, leaseId: string, end: 'done' | 'failed' | 'cancelled'): Promise<boolean> =>
  changeLeased(db, leaseId, sql`state = ${end}, finished_at = now(), ${noLease}`);

/** Marks the job as failed for good before its failure is handled. */
export const markJobFailing = (db: Queryable, leaseId: string, error: JobError): Promise<boolean> =>
  changeLeased(db, leaseId, sql`failing = true, error = ${JSON.stringify(error)}::jsonb`);

/**
 * Queues the job again, or ends it if it was cancelled. With `isRetry` the run is counted as a
 * retry, not as a failure of its own.
 */
export const retryJob = (
  db: Queryable,
  leaseId: string,
  { runAt, error, isRetry }: { runAt: Date; error?: JobError; isRetry?: boolean },
): Promise<boolean> =>
  changeLeased(
    db,
    leaseId,
    sql`state = case when cancel then 'cancelled' else 'queued' end,
      finished_at = case when cancel then now() end,
      run_at = ${runAt}::timestamptz,
      retries = retries + ${isRetry ? 1 : 0},
      error = coalesce(${error ? JSON.stringify(error) : null}::jsonb, error),
      ${noLease}`,
  );

/** Returns the job to the queue without counting the attempt. */
export const releaseJob = (db: Queryable, leaseId: string): Promise<boolean> =>
  changeLeased(
    db,
    leaseId,
    sql`state = case when cancel then 'cancelled' else 'queued' end,
      finished_at = case when cancel then now() end,
      attempt = attempt - (not failing)::int,
      run_at = now(),
      ${noLease}`,
  );

/** True when a job of these queues is active or can be started now. */
export const hasLiveJobs = async (db: Queryable, queues: readonly string[], now: Date): Promise<boolean> => {
  const { rows } = await sql`
    select from job
    where queue = any(${queues}) and (state = 'active' or (state = 'queued' and run_at <= greatest(now(), ${now}::timestamptz)))
    limit 1`.execute(db);
  return rows.length > 0;
};

/** Removes jobs that ended more than a day ago. */
export const deleteFinishedJobs = async (db: Queryable): Promise<void> => {
  await sql`delete from job where finished_at < now() - interval '1 day'`.execute(db);
};
