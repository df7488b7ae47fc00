import { sql } from 'kysely';
import type { Queryable, Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import type { TimedView } from '../calculations/view-timeline.js';
import { startupBucketSql } from './startup-bucket-sql.js';

export type EndedView = TimedView & Pick<Row<'video_view'>, 'environment_id' | 'id'>;

export type SummedView = Pick<Row<'video_view'>, 'environment_id' | 'id' | 'average_bitrate'> &
  Pick<Row<'video_view'>, 'rendition_changes' | 'rendition_upshifts' | 'rendition_downshifts'>;

/**
 * Ends views of which nothing was reported since `before`, `limit` at most. Returns their number.
 */
export const endSilentViews = async (db: Queryable, before: Date, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    update video_view set ended_at = seen_at, is_dropped = true
    where ctid = any(array(
      select ctid from video_view where ended_at is null and seen_at < ${before}::timestamptz
      order by seen_at limit ${limit} for update skip locked
    )) and ended_at is null`.execute(db);
  return Number(numAffectedRows ?? 0);
};

/** Locks views that ended before a time and are not summed up, `limit` at most. */
export const lockEndedViews = (tx: Transaction, before: Date, limit: number): Promise<EndedView[]> =>
  tx
    .selectFrom('video_view')
    .select(['environment_id', 'id', 'started_at', 'seen_at', 'ended_at', 'events', 'video_startup_time'])
    .select(['is_startup_failure', 'is_playback_failure'])
    .where(sql<boolean>`not is_summed`)
    .where('ended_at', '<', before)
    .orderBy('ended_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();

/** Of the values that players name, in an hour, a day or a month of an environment. */
const MAX_VALUES = 200;
/** An index has at most 2,700 bytes for a row. */
const MAX_LENGTH = 255;
const reportedDimensions = [
  ...['country', 'operating_system', 'browser', 'viewer_device_category', 'player_name', 'stream_type'],
];

const sums = [
  ...['views', 'watch_ms', 'playing_ms', 'rebuffers', 'rebuffer_ms', 'startups', 'startup_ms'],
  ...['startup_failures', 'playback_failures', 'exits'],
];
const listSums = (write: (name: string) => string) => sql.raw(sums.map(write).join(', '));

/**
 * Adds views that have ended to the roll-ups, and marks them; views that are marked are left out.
 * Values beyond the first 200 that players name become `other`.
 */
export const sumUp = async (tx: Transaction, views: readonly SummedView[]): Promise<void> => {
  // In order, because several servers write and would wait for each other.
  await sql`
    with summed as (
      update video_view set is_summed = true, average_bitrate = given.average_bitrate,
        rendition_changes = given.rendition_changes, rendition_upshifts = given.rendition_upshifts,
        rendition_downshifts = given.rendition_downshifts
      from jsonb_to_recordset(${JSON.stringify(views)}::jsonb) as given (
        environment_id text, id text, average_bitrate double precision, rendition_changes integer,
        rendition_upshifts integer, rendition_downshifts integer
      )
      where video_view.environment_id = given.environment_id and video_view.id = given.id and not is_summed
      returning video_view.*
    ), fact as (
      select environment_id, period, date_trunc(period, started_at, 'UTC') as start, dimension,
        left(value, ${MAX_LENGTH}) as value, count(*) as views,
        sum(coalesce(watch_time, 0)) as watch_ms, sum(coalesce(playing_time, 0)) as playing_ms,
        sum(coalesce(rebuffer_count, 0)) as rebuffers, sum(coalesce(rebuffer_duration, 0)) as rebuffer_ms,
        count(video_startup_time) as startups, sum(coalesce(video_startup_time, 0)) as startup_ms,
        count(*) filter (where is_startup_failure and not is_business_exception) as startup_failures,
        count(*) filter (where is_playback_failure and not is_business_exception) as playback_failures,
        count(*) filter (where video_startup_time is null and not is_playback_failure) as exits
      from summed cross join (values ('hour'), ('day'), ('month')) as of_period (period) cross join lateral (
        select '' as dimension, '' as value
        union all select 'asset_id', asset_id
        union all select 'live_stream_id', live_stream_id
        union all select 'error', error_id::text
        union all select 'startup_bucket', ${startupBucketSql(sql`video_startup_time`)}::text
        union all select name, dimensions ->> name from unnest(${reportedDimensions}::text[]) as reported (name)
      ) as part
      where value is not null
      group by 1, 2, 3, 4, 5
    ), numbered as (
      select fact.*, view_rollup.value is not null as is_known,
        row_number() over (
          partition by fact.environment_id, period, start, dimension, view_rollup.value is null
          order by fact.views desc, value
        ) as number
      from fact left join view_rollup using (environment_id, period, start, dimension, value)
    ), limited as (
      select numbered.*, case
        when is_known or dimension <> all(${reportedDimensions}::text[]) or number + (
          select count(*) from view_rollup
          where environment_id = numbered.environment_id and period = numbered.period
            and dimension = numbered.dimension and start = numbered.start
        ) <= ${MAX_VALUES} then value else 'other'
      end as counted_value
      from numbered
    )
    insert into view_rollup (environment_id, period, start, dimension, value, ${listSums((name) => name)})
    select environment_id, period, start, dimension, counted_value, ${listSums((name) => `sum(${name})`)}
    from limited group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (environment_id, period, dimension, start, value) do update set
      ${listSums((name) => `${name} = view_rollup.${name} + excluded.${name}`)}`.execute(tx);
};
