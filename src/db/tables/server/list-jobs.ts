import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { JobError, Row } from '../../schema.js';

export interface ListedJob {
  readonly id: string;
  readonly queue: string;
  readonly state: Row<'job'>['state'];
  /** The asset that the job works for; null if it works for none. */
  readonly asset_id: string | null;
  /** Empty if the asset has none; null if it was deleted. */
  readonly asset_title: string | null;
  /**
   * Of `max_attempts`: runs that were lost with their server, or only waited for something, do not
   * count.
   */
  readonly attempt: number;
  readonly max_attempts: number;
  readonly created_at: Date;
  /** When a queued job may start. */
  readonly run_at: Date;
  readonly finished_at: Date | null;
  readonly error: JobError | null;
}

/**
 * Active jobs, then queued ones in the order of their start, then ended ones of the last day,
 * newest first.
 */
export const listJobs = async (
  db: Queryable,
  { assetId, state, limit }: { assetId?: string | undefined; state?: string | undefined; limit: number },
): Promise<ListedJob[]> => {
  const { rows } = await sql<ListedJob>`
    select listed.id, queue, state, asset_id,
      case when asset.id is not null then coalesce(asset.meta ->> 'title', '') end as asset_title,
      attempt - losses - retries as attempt, max_attempts, listed.created_at, run_at, finished_at, listed.error
    from (
      select job.*, coalesce(payload->>'assetId', track.asset_id, robots_job.asset_id) as asset_id
      from job
        left join track on track.id = payload->>'trackId'
        left join robots_job on robots_job.id = coalesce(payload->>'jobId', payload->>'robotsJobId')
    ) as listed
      left join asset on asset.id = asset_id
    where (${assetId ?? null}::text is null or asset_id = ${assetId ?? null})
      and (${state ?? null}::text is null or state = ${state ?? null})
    order by case state when 'active' then 0 when 'queued' then 1 else 2 end,
      case when state = 'queued' then run_at end, listed.seq desc
    limit ${limit}`.execute(db);
  return rows;
};
