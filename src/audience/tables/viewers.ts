import { type RawBuilder, sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import { type AudienceFilter, ofFilter } from './overview.js';

/**
 * Players report every 10 seconds. A view that has not ended goes on so long after its last report.
 */
const WATCHING_SECONDS = 30;

/** Views that go on, by live stream. */
export const countViewers = async (
  db: Queryable,
  filter: AudienceFilter,
  now: Date,
): Promise<{ live_stream_id: string | null; viewers: number }[]> => {
  const { rows } = await sql<{ live_stream_id: string | null; viewers: number }>`
    select live_stream_id, count(*)::float8 as viewers from video_view
    where ${ofFilter(filter)} and seen_at > ${new Date(now.getTime() - WATCHING_SECONDS * 1000)} and ended_at is null
    group by live_stream_id order by viewers desc, live_stream_id`.execute(db);
  return rows;
};

export interface ConcurrencyQuery {
  readonly filter: AudienceFilter;
  readonly from: Date;
  readonly before: Date;
  readonly stepSeconds: number;
}

/** How many views overlap a step; until the next one that differs. */
export interface ConcurrencyChange {
  readonly time: Date;
  readonly viewers: number;
}

const changes = ({ filter, from, before, stepSeconds }: ConcurrencyQuery) => {
  const length = sql`make_interval(secs => ${stepSeconds})`;
  // `extract` would calculate with decimals, which takes several times as long.
  const stepOf = (time: RawBuilder<unknown>) => sql`date_bin(${length}, ${time}, 'epoch'::timestamptz)`;
  const end = sql`coalesce(ended_at, seen_at + make_interval(secs => ${WATCHING_SECONDS}))`;
  return sql`
    with span as (
      select ${stepOf(sql`greatest(started_at, ${from})`)} as first, ${stepOf(end)} + ${length} as after
      from video_view where ${ofFilter(filter)} and seen_at >= ${from} and started_at < ${before}
    ), change as (
      select step, sum(difference) as difference
      from (select first as step, 1 as difference from span union all select after, -1 from span) as each group by step
    )
    select step as time, sum(difference) over (order by step)::float8 as viewers from change`;
};

/** In order of time. */
export const listConcurrency = async (db: Queryable, query: ConcurrencyQuery): Promise<ConcurrencyChange[]> => {
  const { rows } = await sql<ConcurrencyChange>`${changes(query)} order by time`.execute(db);
  return rows;
};

/** The first of the steps with the most views; undefined without views. */
export const findPeak = async (db: Queryable, query: ConcurrencyQuery): Promise<ConcurrencyChange | undefined> => {
  const { rows } = await sql<ConcurrencyChange>`
    select * from (${changes(query)}) as step order by viewers desc, time limit 1`.execute(db);
  return rows[0];
};
