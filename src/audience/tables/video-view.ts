import { type SelectQueryBuilder, sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { Row, Schema } from '../../db/schema.js';
import type { MetricId } from '../metrics.js';
import type { SelectedViews } from './filter-views.js';
import { metricValue } from './view-values.js';

const scores = [
  'viewer_experience_score',
  'playback_success_score',
  'startup_time_score',
  'rebuffer_score',
  'video_quality_score',
] as const satisfies readonly MetricId[];

/** A view and its scores, from 0 to 100. */
export type StoredView = Row<'video_view'> & Readonly<Record<(typeof scores)[number], number | null>>;

const scored = (views: SelectQueryBuilder<Schema, 'video_view', object>) =>
  views.selectAll('video_view').select(scores.map((score) => metricValue(score).as(score)));

/** Undefined when the environment has no such view. */
export const findView = (db: Queryable, environmentId: string, id: string): Promise<StoredView | undefined> =>
  scored(
    db.selectFrom('video_view').where('environment_id', '=', environmentId).where('id', '=', id),
  ).executeTakeFirst();

/** What a list has of a view. */
export type ListedView = Pick<
  Row<'video_view'>,
  | 'id'
  | 'started_at'
  | 'ended_at'
  | 'seen_at'
  | 'error_id'
  | 'dimensions'
  | 'watch_time'
  | 'is_playback_failure'
  | 'is_startup_failure'
  | 'is_business_exception'
> & { readonly player_error_message: string | null; readonly viewer_experience_score: number | null };

/** Which of the selected views a list has. */
export interface ListedViews {
  /** `any`: views that ended with an error. */
  readonly errorId: number | 'any' | undefined;
  /** As the player or as the page names the viewer. */
  readonly viewerId: string | undefined;
}

const narrow = (views: SelectedViews, { errorId, viewerId }: ListedViews): SelectedViews => {
  let narrowed = views;
  if (errorId === 'any') narrowed = narrowed.where('error_id', 'is not', null);
  else if (errorId !== undefined) narrowed = narrowed.where('error_id', '=', errorId);
  if (viewerId === undefined) return narrowed;
  return narrowed.where(
    sql<boolean>`(video_view.viewer_id = ${viewerId} or video_view.dimensions ->> 'viewer_user_id' = ${viewerId})`,
  );
};

/** A page of views in the order of their ends, and the number of all. */
export const listViews = async (
  views: SelectedViews,
  which: ListedViews,
  page: { readonly limit: number; readonly offset: number; readonly direction: 'asc' | 'desc' },
): Promise<{ readonly views: ListedView[]; readonly total: number }> => {
  const narrowed = narrow(views, which);
  const { count } = await narrowed.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await narrowed
    .select(['id', 'started_at', 'ended_at', 'seen_at', 'error_id', 'dimensions', 'watch_time'])
    .select(['is_playback_failure', 'is_startup_failure', 'is_business_exception'])
    .select([
      sql<string | null>`video_view.details ->> 'player_error_message'`.as('player_error_message'),
      metricValue('viewer_experience_score').as('viewer_experience_score'),
    ])
    .orderBy('ended_at', page.direction)
    .orderBy('id')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { views: rows, total: Number(count) };
};

/** In one query. */
const EXPORT_PAGE = 200;

const startedOn = (db: Queryable, environmentId: string, dayStart: Date) =>
  db
    .selectFrom('video_view')
    .where('environment_id', '=', environmentId)
    .where('started_at', '>=', dayStart)
    .where(sql<boolean>`video_view.started_at < ${dayStart}::timestamptz + interval '24 hours'`);

/**
 * All views that began on a day, in the order of their starts. They are read page by page as they
 * are needed, so that a day of any size takes little memory.
 */
export async function* viewsOfDay(db: Queryable, environmentId: string, dayStart: Date): AsyncGenerator<StoredView> {
  let after: readonly [time: Date, id: string] = [dayStart, ''];
  for (;;) {
    const rows = await scored(startedOn(db, environmentId, dayStart))
      .where(sql<boolean>`(video_view.started_at, video_view.id) > (${after[0]}::timestamptz, ${after[1]})`)
      .orderBy('started_at')
      .orderBy('id')
      .limit(EXPORT_PAGE)
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < EXPORT_PAGE) return;
    after = [last.started_at, last.id];
  }
}

/** The starts of the days (UTC) before `before` on which views began, newest first. */
export const listDaysWithViews = async (db: Queryable, environmentId: string, before: Date): Promise<Date[]> => {
  // Jumps from day to day over the index, instead of reading all views.
  const newest = (bound: unknown) => sql`(
    select date_trunc('day', started_at, 'UTC') as start from video_view
    where environment_id = ${environmentId} and started_at < ${bound} order by started_at desc limit 1
  )`;
  const { rows } = await sql<{ start: Date }>`
    with recursive day as (
      ${newest(before)}
      union all
      select next.start from day, lateral ${newest(sql`day.start`)} next
    )
    select start from day`.execute(db);
  return rows.map(({ start }) => start);
};
