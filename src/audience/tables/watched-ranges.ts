import { sql } from 'kysely';
import type { Queryable } from '../../db/database.js';
import type { ViewRange } from '../../db/schema.js';
import type { Window } from '../../domain/usage/list-delivery-usage.js';
import { viewsOf } from './filter-views.js';
import { eachView } from './view-pages.js';

/**
 * What was watched: all views of an asset, of a playback ID or of a video, as its page names it.
 */
export interface WatchedTarget {
  readonly environmentId: string;
  readonly dimension: 'asset_id' | 'playback_id' | 'video_id';
  readonly id: string;
  /** When the views began. */
  readonly timeframe: Window;
}

const watchedViews = (db: Queryable, { environmentId, dimension, id, timeframe }: WatchedTarget) => {
  const filters = [{ kind: 'is', dimension, value: id }] as const;
  return viewsOf(db, environmentId, { timeframe, filters, metricFilters: [] }, 'started_at').where(
    sql<boolean>`video_view.ranges <> '[]'::jsonb`,
  );
};

/**
 * The duration of what was watched, in milliseconds: that of the asset; if it is unknown, what half
 * of the views report; or else the furthest that anybody got. 0 without a view.
 */
export const findWatchedDuration = async (db: Queryable, target: WatchedTarget): Promise<number> => {
  const reported = sql`(video_view.details -> 'video_duration')`;
  const { duration } = await watchedViews(db, target)
    .leftJoin('asset', 'asset.id', 'video_view.asset_id')
    .select(
      sql<number>`coalesce(
        nullif(max(asset.duration_seconds) * 1000, 0),
        percentile_disc(0.5) within group (
          order by case when jsonb_typeof(${reported}) = 'number' then nullif(greatest(${reported}::float8, 0), 0) end
        ),
        max(video_view.max_playhead),
        0
      )::float8`.as('duration'),
    )
    .executeTakeFirstOrThrow();
  return duration;
};

/**
 * False when the environment has neither the asset or playback ID nor, for an asset, a view of it.
 * IDs of videos are the words of pages: any of them may be watched.
 */
export const mayBeWatched = async (
  db: Queryable,
  { environmentId, dimension, id }: Omit<WatchedTarget, 'timeframe'>,
): Promise<boolean> => {
  if (dimension === 'video_id') return true;
  const table = dimension === 'asset_id' ? 'asset' : 'playback_id';
  const existing = db.selectFrom(table).select('id').where('id', '=', id).where('environment_id', '=', environmentId);
  if ((await existing.executeTakeFirst()) !== undefined) return true;
  if (dimension === 'playback_id') return false;
  // Of an asset that was deleted.
  const view = db.selectFrom('video_view').select('id').where('asset_id', '=', id);
  return (await view.where('environment_id', '=', environmentId).limit(1).executeTakeFirst()) !== undefined;
};

/** Calls `each` with the ranges that each view played. */
export const eachWatchedRanges = (
  db: Queryable,
  target: WatchedTarget,
  each: (ranges: readonly ViewRange[]) => void,
): Promise<void> => eachView(watchedViews(db, target).select('ranges'), 'started_at', ({ ranges }) => each(ranges));
