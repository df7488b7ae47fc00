import { type RawBuilder, sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { RollUpSpan } from '../calculations/roll-up-spans.js';
import type { ViewFact } from '../calculations/summarize.js';
import { startupBucketSql } from './startup-bucket-sql.js';

/** Views of environments, or of one asset or live stream in them. */
export interface AudienceFilter {
  readonly environmentIds: readonly string[];
  readonly assetId?: string | undefined;
  readonly liveStreamId?: string | undefined;
}

export interface FactQuery {
  readonly filter: AudienceFilter;
  /** Milliseconds since 1970; inclusive. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly beforeMs: number;
  readonly spans: readonly RollUpSpan[];
  /** Facts of all views and of startup times are split into these; undefined for the whole time. */
  readonly unit: 'hour' | 'day' | undefined;
  /** Dimensions of roll-ups. Of each, the values with the most views are read, `limit` at most. */
  readonly dimensions: readonly string[];
  readonly limit: number;
}

const sums = [
  ...['views', 'watch_ms', 'playing_ms', 'rebuffers', 'rebuffer_ms', 'startups', 'startup_ms'],
  ...['startup_failures', 'playback_failures', 'exits'],
];
const sumColumns = sql.join(sums.map((name) => sql`sum(${sql.ref(name)})::float8 as ${sql.ref(name)}`));

const isSubject = ({ assetId, liveStreamId }: AudienceFilter): boolean => (assetId ?? liveStreamId) !== undefined;

/** The views that a filter means. */
export const ofFilter = ({ environmentIds, assetId, liveStreamId }: AudienceFilter): RawBuilder<boolean> => {
  const conditions = [sql`environment_id = any(${environmentIds})`];
  if (assetId !== undefined) conditions.push(sql`asset_id = ${assetId}`);
  if (liveStreamId !== undefined) conditions.push(sql`live_stream_id = ${liveStreamId}`);
  return sql`(${sql.join(conditions, sql` and `)})`;
};

/** Facts of roll-ups, which have no details of single assets and live streams. */
const rolledUp = ({ filter, spans, dimensions }: FactQuery): RawBuilder<unknown> => sql`
  select view_rollup.start as time, view_rollup.dimension, view_rollup.value,
    ${sql.join(sums.map((name) => sql.ref(`view_rollup.${name}`)))}
  from jsonb_to_recordset(${JSON.stringify(
    spans.map(({ period, from, before }) => ({ period, first: new Date(from), before: new Date(before) })),
  )}::jsonb) as span (period text, first timestamptz, before timestamptz)
  cross join unnest(${filter.environmentIds}::text[]) as environment (id)
  cross join unnest(${dimensions}::text[]) as wanted (dimension)
  join view_rollup on view_rollup.environment_id = environment.id and view_rollup.period = span.period
    and view_rollup.dimension = wanted.dimension
    and view_rollup.start >= span.first and view_rollup.start < span.before`;

const ofViews = ({ filter, fromMs, beforeMs, dimensions }: FactQuery): RawBuilder<unknown> => sql`
  select started_at as time, part.dimension, part.value, 1 as views,
    coalesce(watch_time, 0) as watch_ms, coalesce(playing_time, 0) as playing_ms,
    coalesce(rebuffer_count, 0) as rebuffers, coalesce(rebuffer_duration, 0) as rebuffer_ms,
    (video_startup_time is not null)::int as startups, coalesce(video_startup_time, 0) as startup_ms,
    is_startup_failure::int as startup_failures, is_playback_failure::int as playback_failures,
    (ended_at is not null and video_startup_time is null and not is_playback_failure)::int as exits
  from video_view cross join lateral (values
    ('', ''), ('asset_id', asset_id), ('live_stream_id', live_stream_id), ('error', error_id::text),
    ('startup_bucket', ${startupBucketSql(sql`video_startup_time`)}::text),
    ('country', dimensions->>'country'), ('browser', dimensions->>'browser'),
    ('operating_system', dimensions->>'operating_system'),
    ('viewer_device_category', dimensions->>'viewer_device_category')
  ) as part (dimension, value)
  where ${ofFilter(filter)} and part.value is not null and part.dimension = any(${dimensions})
    and started_at >= ${new Date(fromMs)} and started_at < ${new Date(beforeMs)}
    ${isSubject(filter) ? sql`` : sql`and not is_summed`}`;

/**
 * Reads what the views of a time add up to: all of them, those with each startup time, and those
 * with each value of the other dimensions. Reads roll-ups and the views that are not in them, or
 * all views of one asset or live stream.
 */
export const readFacts = async (db: Queryable, query: FactQuery): Promise<ViewFact[]> => {
  const { filter, unit, limit } = query;
  const source = isSubject(filter) ? ofViews(query) : sql`${rolledUp(query)} union all ${ofViews(query)}`;
  const start =
    unit === undefined
      ? sql`null::timestamptz`
      : sql`case when dimension in ('', 'startup_bucket') then date_trunc(${sql.lit(unit)}, time, 'UTC') end`;
  const { rows } = await sql<ViewFact>`
    with fact as (${source}), grouped as (
      select ${start} as time, dimension, value, ${sumColumns} from fact group by 1, 2, 3
    ), ranked as (
      select *, row_number() over (partition by dimension, time order by views desc, value) as rank from grouped
    )
    select time, dimension, value, ${sql.join(sums.map((name) => sql.ref(name)))} from ranked
    where rank <= ${limit} or dimension in ('', 'startup_bucket')
    order by dimension, time, views desc, value`.execute(db);
  return rows;
};
