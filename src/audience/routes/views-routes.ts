import { readPage } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../../http/plugins/operation-route.js';
import { KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';
import { serializeListedView, serializeView } from '../api/serialize-view.js';
import { type Query, readDirection } from '../requests/query-values.js';
import { readViewSelection } from '../requests/view-selection.js';
import { viewsOf } from '../tables/filter-views.js';
import { findView, listDaysWithViews, listViews } from '../tables/video-view.js';
import { exportArtifact } from './view-export.js';

/** The largest ID of an error. */
const MAX_INTEGER = 2 ** 31 - 1;
const EXPORT_SECONDS = 6 * 3600;
const DAY_MS = 24 * 3600_000;

const readErrorId = (query: Query, problems: Problems): number | 'any' | undefined => {
  const text = lastOf(query.error_id);
  if (text === undefined || text === '') return undefined;
  if (text === 'any') return 'any';
  const id = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(id <= MAX_INTEGER)) problems.add(['error_id'], 'must be the ID of an error or any');
  return id;
};

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000);

export const viewsRoutes = (route: Route<string>, { database, clock, artifactUrls }: DomainContext): void => {
  const db = database.queryable;

  route('listVideoViews', async ({ caller, query }) => {
    const problems = new Problems();
    const page = readPage(query, problems);
    const selection = readViewSelection(query, clock.now(), problems);
    const errorId = readErrorId(query, problems);
    const direction = readDirection(query, problems) ?? 'desc';
    problems.throwIfAny(query);
    const selected = viewsOf(db, caller.environment.id, selection, 'ended_at');
    const viewerId = lastOf(query.viewer_id)?.replaceAll('\0', '') || undefined;
    const { views, total } = await listViews(selected, { errorId, viewerId }, { ...page, direction });
    return {
      data: views.map((view) => serializeListedView(view, total)),
      total_row_count: total,
      page: page.page,
      limit: page.limit,
      timeframe: selection.timeframe,
    };
  });

  route('getVideoView', async ({ caller, params }) => {
    const id = params.viewId!;
    // The database takes no NUL in a text.
    const view = id.includes('\0') ? undefined : await findView(db, caller.environment.id, id);
    if (!view) throw new KinoraError('not_found');
    const timeframe = [seconds(view.started_at), seconds(view.ended_at ?? view.seen_at)];
    return { data: serializeView(view), timeframe, total_row_count: 1 };
  });

  route('listViewExports', async ({ caller }) => {
    const now = clock.now();
    const today = new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS);
    const days = await listDaysWithViews(db, caller.environment.id, today);
    const data = days.map((day) => {
      const date = day.toISOString().slice(0, 10);
      const path = artifactUrls.urlOf(exportArtifact(caller.environment.id, date), seconds(now) + EXPORT_SECONDS);
      return { export_date: date, files: [{ path, type: 'csv', version: 1 }] };
    });
    const first = days.at(-1) ?? today;
    return { data, timeframe: [seconds(first), seconds(today)], total_row_count: data.length };
  });
};
