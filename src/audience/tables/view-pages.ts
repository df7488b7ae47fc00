import { sql } from 'kysely';
import type { Row } from '../../db/schema.js';
import type { SelectedViews } from './filter-views.js';

type View = Row<'video_view'>;

/** In one query. */
const PAGE = 500;

/**
 * Calls `each` with every selected view, in the order of `time` and page by page: so memory does
 * not grow with the number of views, and other queries get their turn. Views that are reported
 * meanwhile move to the end of `seen_at`; they are passed once, too.
 */
export const eachView = async <Column extends keyof View>(
  views: SelectedViews,
  time: 'started_at' | 'seen_at',
  columns: readonly Column[],
  each: (view: Pick<View, Column>) => void,
): Promise<void> => {
  const passed = new Set<string>();
  const order = sql.ref<Date>(`video_view.${time}`);
  let after: readonly [time: Date, id: string] | undefined;
  for (;;) {
    const [afterTime, afterId] = after ?? [];
    const page = after
      ? views.where(sql<boolean>`(${order}, video_view.id) > (${afterTime}::timestamptz, ${afterId})`)
      : views;
    const rows = (await page
      .select(['video_view.id', order.as('page_time')])
      .select(columns.map((column) => sql.ref(`video_view.${column}`).as(column)))
      .orderBy(order)
      .orderBy('video_view.id')
      .limit(PAGE)
      .execute()) as (Pick<View, Column> & { readonly id: string; readonly page_time: Date })[];
    for (const row of rows) {
      if (passed.has(row.id)) continue;
      if (time === 'seen_at') passed.add(row.id);
      each(row);
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = [last.page_time, last.id];
  }
};
