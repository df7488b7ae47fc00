import { type RawBuilder, sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { ViewEvent, ViewRange } from '../../db/schema.js';
import {
  averages,
  initialValues,
  integerMetrics,
  MAX_EVENTS,
  numberMetrics,
  type ViewMetric,
} from '../reported-values.js';

/** What is added to the row of a view; null where nothing is known. */
export interface CollectedView extends Readonly<Partial<Record<ViewMetric, number>>> {
  readonly environment_id: string;
  readonly id: string;
  /** Otherwise it is only added to a row that exists. */
  readonly is_started: boolean;
  readonly started_at: Date;
  readonly seen_at: Date;
  readonly ended_at: Date | null;
  readonly playback_id: string | null;
  readonly viewer_id: string | null;
  readonly session_id: string | null;
  readonly error_id: number | null;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  readonly ranges: readonly ViewRange[];
  readonly events: readonly ViewEvent[];
  readonly is_playback_failure: boolean;
  readonly is_business_exception: boolean;
}

const all: readonly ViewMetric[] = [...integerMetrics, ...numberMetrics];
const list = (parts: readonly string[]): RawBuilder<unknown> => sql.raw(parts.join(', '));
const metricColumns = list(all);
const metricTypes = list([
  ...integerMetrics.map((name) => `${name} integer`),
  ...numberMetrics.map((name) => `${name} double precision`),
]);
const metricValues = list(all.map((name) => `given.${name}`));
const mergedMetrics = list(
  all.map((name) =>
    averages.has(name)
      ? `${name} = coalesce(excluded.${name}, video_view.${name})`
      : `${name} = greatest(excluded.${name}, video_view.${name})`,
  ),
);

/** Of the first report. */
const initialDetails = sql`jsonb_strip_nulls(jsonb_build_object(${list(
  Object.keys(initialValues).map((name) => `'${name}', video_view.details -> '${name}'`),
)}))`;

/** A player repeats what it sent if it got no answer, and servers write in any order. */
const mergedEvents = sql`case
  when excluded.events = '[]' then video_view.events
  when video_view.events = '[]' then excluded.events
  when (video_view.events -> -1 ->> 1)::bigint < (excluded.events -> 0 ->> 1)::bigint
    then video_view.events || excluded.events
  else (
    select jsonb_agg(event order by time, position)
    from (
      select distinct on (time, event ->> 0) event, time, position
      from jsonb_array_elements(video_view.events || excluded.events) with ordinality as element (event, position)
      cross join lateral (select (event ->> 1)::bigint as time) as of_event
      order by time, event ->> 0, position
    ) as events
  )
end`;

/** Players send all ranges each time. They only grow, so that the longest list is the newest. */
const mergedRanges = sql`case
  when excluded.ranges = '[]' then video_view.ranges
  when video_view.ranges = '[]'
    or (jsonb_array_length(excluded.ranges), (excluded.ranges -> -1 ->> 1)::bigint)
      >= (jsonb_array_length(video_view.ranges), (video_view.ranges -> -1 ->> 1)::bigint)
    then excluded.ranges
  else video_view.ranges
end`;

/**
 * Adds to the rows of views and makes new ones, all in one statement; each view may be given once.
 * What a playback ID belongs to is looked up within the environment of the view. Returns the views
 * that have a row: those of environments that do not exist have none.
 */
export const upsertViews = async (
  db: Queryable,
  views: readonly CollectedView[],
): Promise<{ environment_id: string; id: string }[]> => {
  // In order, because several servers write and would wait for each other. Large values that are
  // out of line stay where they are when nothing is new in them.
  const { rows } = await sql<{ environment_id: string; id: string }>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(views)}::jsonb) as given (
        environment_id text, id text, is_started boolean, started_at timestamptz, seen_at timestamptz,
        ended_at timestamptz, playback_id text, viewer_id text, session_id text, error_id integer,
        dimensions jsonb, details jsonb, ranges jsonb, events jsonb,
        is_playback_failure boolean, is_business_exception boolean, ${metricTypes}
      )
    )
    insert into video_view (
      environment_id, id, started_at, seen_at, ended_at, asset_id, live_stream_id, playback_id, viewer_id, session_id,
      error_id, dimensions, details, ranges, events, is_startup_failure, is_playback_failure, is_business_exception,
      ${metricColumns}
    )
    select given.environment_id, given.id, given.started_at, given.seen_at, given.ended_at,
      playback_id.asset_id, playback_id.live_stream_id, playback_id.id, given.viewer_id, given.session_id,
      given.error_id, given.dimensions, given.details, given.ranges, given.events,
      given.is_playback_failure and given.video_startup_time is null,
      given.is_playback_failure, given.is_business_exception, ${metricValues}
    from given
    join environment on environment.id = given.environment_id
    left join playback_id
      on playback_id.id = given.playback_id and playback_id.environment_id = given.environment_id
    where given.is_started
      or exists (select from video_view where environment_id = given.environment_id and id = given.id)
    order by given.environment_id, given.id
    on conflict (environment_id, id) do update set
      started_at = least(excluded.started_at, video_view.started_at),
      seen_at = greatest(excluded.seen_at, video_view.seen_at),
      ended_at = case
        when video_view.is_summed then video_view.ended_at
        when excluded.ended_at is not null then greatest(excluded.ended_at, video_view.ended_at)
        when excluded.seen_at > video_view.ended_at then null
        else video_view.ended_at
      end,
      asset_id = coalesce(excluded.asset_id, video_view.asset_id),
      live_stream_id = coalesce(excluded.live_stream_id, video_view.live_stream_id),
      playback_id = coalesce(excluded.playback_id, video_view.playback_id),
      viewer_id = coalesce(excluded.viewer_id, video_view.viewer_id),
      session_id = coalesce(excluded.session_id, video_view.session_id),
      error_id = coalesce(excluded.error_id, video_view.error_id),
      is_dropped = video_view.is_dropped and excluded.ended_at is null
        and (video_view.is_summed or excluded.seen_at <= video_view.ended_at),
      dimensions = case
        when video_view.dimensions @> excluded.dimensions then video_view.dimensions
        else video_view.dimensions || excluded.dimensions
      end,
      details = case
        when video_view.details @> excluded.details then video_view.details
        else video_view.details || excluded.details || ${initialDetails}
      end,
      ranges = ${mergedRanges},
      events = (
        select case
          when jsonb_array_length(events) <= ${sql.lit(MAX_EVENTS)} then events
          else jsonb_path_query_array(events, ${sql.lit(`$[0 to ${MAX_EVENTS - 2}]`)}) || jsonb_build_array(events -> -1)
        end
        from (select ${mergedEvents} as events) as merged
      ),
      is_startup_failure = (excluded.is_playback_failure or video_view.is_playback_failure)
        and coalesce(excluded.video_startup_time, video_view.video_startup_time) is null,
      is_playback_failure = excluded.is_playback_failure or video_view.is_playback_failure,
      is_business_exception = excluded.is_business_exception or video_view.is_business_exception,
      ${mergedMetrics}
    returning environment_id, id`.execute(db);
  return rows;
};

/** The environments of those of these playback IDs that exist. */
export const findPlaybackEnvironments = async (
  db: Queryable,
  playbackIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const rows = await db
    .selectFrom('playback_id')
    .select(['id', 'environment_id'])
    .where(sql<boolean>`id = any(${sql.val(playbackIds)}::text[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row.environment_id]));
};
