import { sql } from 'kysely';
import type { Queryable } from '../../database.js';

export interface JobFigure {
  readonly queue: string;
  readonly state: 'queued' | 'active';
  readonly jobs: number;
  /** The age of the oldest job that is due; 0 for active jobs. */
  readonly oldestSeconds: number;
}

/**
 * Counts live jobs only: there may be very many ended jobs, and those are counted when they end.
 */
export const countLiveJobs = async (db: Queryable): Promise<JobFigure[]> => {
  const { rows } = await sql<{ queue: string; state: 'queued' | 'active'; jobs: number; oldest: number | null }>`
    select queue, state, count(*)::int as jobs,
      extract(epoch from now() - min(run_at) filter (where state = 'queued' and run_at <= now()))::float8 as oldest
    from job where state = 'queued' or state = 'active'
    group by queue, state`.execute(db);
  return rows.map(({ oldest, ...figure }) => ({ ...figure, oldestSeconds: oldest ?? 0 }));
};

/** The number of assets in each status. */
export const countAssets = async (db: Queryable): Promise<Record<'preparing' | 'ready' | 'errored', number>> => {
  const { rows } = await sql<{ status: 'preparing' | 'ready' | 'errored'; assets: number }>`
    select status, count(*)::int as assets from asset group by status`.execute(db);
  const counts = { preparing: 0, ready: 0, errored: 0 };
  for (const { status, assets } of rows) counts[status] = assets;
  return counts;
};

/** Age of the event that has waited longest for delivery; 0 when none is waiting. */
export const webhookLagSeconds = async (db: Queryable): Promise<number> => {
  const { rows } = await sql<{ lag: number }>`
    select extract(epoch from now() - created_at)::float8 as lag from event
    where id = (select event_id from webhook_delivery where state = 'pending' order by seq limit 1)`.execute(db);
  return rows[0]?.lag ?? 0;
};
