import { type RawBuilder, sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { RollUpSpan } from '../calculations/roll-up-spans.js';
import type { ValueFact, ViewFact } from '../calculations/summarize.js';
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
}

const sums = [
  ...['views', 'watch_ms', 'playing_ms', 'rebuffers', 'rebuffer_ms', 'startups', 'startup_ms'],
  ...['startup_failures', 'playback_failures', 'exits'],
];
const valueSums = ['views', 'watch_ms', 'rebuffer_ms'];

/** Sums of `float8` need a tenth of the memory of those of `bigint`, and are exact until 2^53. */
const sumsOf = (names: readonly string[]): RawBuilder<unknown> =>
  sql.join(names.map((name) => sql`sum(${sql.ref(name)}::float8) as ${sql.ref(name)}`));

const isSubject = ({ assetId, liveStreamId }: AudienceFilter): boolean => (assetId ?? liveStreamId) !== undefined;

/** The views that a filter means. */
export const ofFilter = ({ environmentIds, assetId, liveStreamId }: AudienceFilter): RawBuilder<boolean> => {
  const conditions = [sql`environment_id = any(${environmentIds})`];
  if (assetId !== undefined) conditions.push(sql`asset_id = ${assetId}`);
  if (liveStreamId !== undefined) conditions.push(sql`live_stream_id = ${liveStreamId}`);
  return sql`(${sql.join(conditions, sql` and `)})`;
};

interface FactSource extends FactQuery {
  /** Of roll-ups. */
  readonly dimensions: readonly string[];
  readonly sums: readonly string[];
}

/** A query for each span, so that each reads its part of the index. */
const rolledUp = ({ filter, spans, dimensions, sums: names }: FactSource): RawBuilder<unknown> =>
  sql.join(
    spans.map(
      ({ period, from, before }) => sql`
        select start as time, dimension, value, ${sql.join(names.map((name) => sql.ref(name)))} from view_rollup
        where environment_id = any(${filter.environmentIds}) and period = ${sql.lit(period)}
          and dimension = any(${dimensions}) and start >= ${new Date(from)} and start < ${new Date(before)}`,
    ),
    sql` union all `,
  );

const ofViews = ({ filter, fromMs, beforeMs, dimensions, sums: names }: FactSource): RawBuilder<unknown> => sql`
  select time, dimension, value, ${sql.join(names.map((name) => sql.ref(name)))} from (
    select started_at as time, part.dimension, part.value, 1 as views,
      coalesce(watch_time, 0) as watch_ms, coalesce(playing_time, 0) as playing_ms,
      coalesce(rebuffer_count, 0) as rebuffers, coalesce(rebuffer_duration, 0) as rebuffer_ms,
      (video_startup_time is not null)::int as startups, coalesce(video_startup_time, 0) as startup_ms,
      (is_startup_failure and not is_business_exception)::int as startup_failures,
      (is_playback_failure and not is_business_exception)::int as playback_failures,
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
      ${isSubject(filter) ? sql`` : sql`and not is_summed`}
  ) as of_view`;

/**
 * Roll-ups and the views that are not in them. Roll-ups have no details of single assets and live
 * streams, so for these it is all their views.
 */
const factsOf = (source: FactSource): RawBuilder<unknown> =>
  isSubject(source.filter) ? ofViews(source) : sql`${rolledUp(source)} union all ${ofViews(source)}`;

/**
 * What all views of a time add up to, and those with each startup time.
 * @param unit what they are split into; undefined for the whole time
 */
export const readTotals = async (
  db: Queryable,
  query: FactQuery,
  unit: 'hour' | 'day' | undefined,
): Promise<ViewFact[]> => {
  const start = unit === undefined ? sql`null::timestamptz` : sql`date_trunc(${sql.lit(unit)}, time, 'UTC')`;
  const { rows } = await sql<ViewFact>`
    select ${start} as time, dimension, value, ${sumsOf(sums)}
    from (${factsOf({ ...query, sums, dimensions: ['', 'startup_bucket'] })}) as fact
    group by 1, 2, 3`.execute(db);
  return rows;
};

/** The values of dimensions with the most views, at most `limit` of each. */
export const readTopValues = async (
  db: Queryable,
  query: FactQuery,
  dimensions: readonly string[],
  limit: number,
): Promise<ValueFact[]> => {
  const { rows } = await sql<ValueFact>`
    select dimension, value, ${sql.join(valueSums.map((name) => sql.ref(name)))}
    from (
      select *, row_number() over (partition by dimension order by views desc, value) as rank
      from (
        select dimension, value, ${sumsOf(valueSums)}
        from (${factsOf({ ...query, sums: valueSums, dimensions })}) as fact group by dimension, value
      ) as summed
    ) as ranked
    where rank <= ${limit} order by dimension, rank`.execute(db);
  return rows;
};
