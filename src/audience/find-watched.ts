import type { Queryable } from '../db/database.js';
import type { WatchedVideo } from '../domain/usage/engagement-spots.js';
import { Heatmap } from './calculations/heatmap.js';
import { eachWatchedRanges, findWatchedDuration, type WatchedTarget } from './tables/watched-ranges.js';

/** Which of 10 to 1000 parts of a video its views played. Without a view, all values are 0. */
export const findWatched = async (db: Queryable, target: WatchedTarget): Promise<WatchedVideo> => {
  const durationMs = await findWatchedDuration(db, target);
  const heatmap = new Heatmap(durationMs);
  if (durationMs > 0) await eachWatchedRanges(db, target, (ranges) => heatmap.add(ranges));
  return { views: heatmap.views, durationMs, value: heatmap.values() };
};
