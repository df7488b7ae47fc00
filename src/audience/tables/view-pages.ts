import { type SelectQueryBuilder, sql } from 'kysely';
import type { Schema } from '../../db/schema.js';

/** In one query. */
const PAGE = 500;

/**
 * Calls `each` with what is selected of every view, in the order of `time` and page by page: so
 * memory does not grow with the number of views, and other queries get their turn. Views that are
 * reported meanwhile move to the end of `seen_at`; they are passed once, too.
 */
export const eachView = async <Selected>(
  views: SelectQueryBuilder<Schema, 'video_view', Selected>,
  time: 'started_at' | 'seen_at',
  each: (view: Selected) => void,
): Promise<void> => {
  const passed = new Set<string>();
  const order = sql.ref<Date>(`video_view.${time}`);
  const ordered = views
    .select(['video_view.id as page_id', order.as('page_time')])
    .orderBy(order)
    .orderBy('video_view.id')
    .limit(PAGE);
  let page = ordered;
  for (;;) {
    const rows = await page.execute();
    for (const row of rows) {
      if (passed.has(row.page_id)) continue;
      if (time === 'seen_at') passed.add(row.page_id);
      each(row as Selected);
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    page = ordered.where(sql<boolean>`(${order}, video_view.id) > (${last.page_time}::timestamptz, ${last.page_id})`);
  }
};
