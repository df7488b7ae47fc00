import type { Database } from '../../db/database.js';
import type { ViewEvent } from '../../db/schema.js';
import type { Clock } from '../../lib/clock.js';
import { isUnavailable } from '../../lib/unavailable.js';
import type { Logger } from '../../telemetry/logger.js';
import { type CollectedView, upsertViews } from '../tables/collected-views.js';
import { type ReportedError, storeErrors } from '../tables/view-errors.js';
import type { PartialView } from './partial-view.js';

interface WriteDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Writes what was reported of views; their environments are known. Returns the keys of those that
 * have a row now.
 * @throws when the database is unavailable
 */
export const writeViews = async (
  { database, clock, logger }: WriteDeps,
  views: ReadonlyMap<string, PartialView>,
): Promise<ReadonlySet<string>> => {
  const db = database.queryable;
  const errors = [...views.values()].flatMap((view) => errorOf(view) ?? []);
  const errorIdOf = await storeErrors(db, errors, clock.now());
  const rows = [...views.values()].map((view) => rowOf(view, errorIdOf));
  const written = new Set<string>();
  const write = async (some: readonly CollectedView[]): Promise<void> => {
    for (const { environment_id: environmentId, id } of await upsertViews(db, some))
      written.add(`${environmentId} ${id}`);
  };
  try {
    await write(rows);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    // What somebody sent, or an environment that is being deleted: the others are written.
    logger.warn({ err: error }, 'reports of views not stored together');
    for (const row of rows)
      await write([row]).catch((cause: unknown) => {
        if (isUnavailable(cause)) throw cause;
      });
  }
  return written;
};

const errorOf = ({ environmentId, error }: PartialView): ReportedError | undefined =>
  environmentId !== undefined && error
    ? { environment_id: environmentId, code: error.code, message: error.message }
    : undefined;

/** A player may have been ready for long, and sends its last report twice when its page goes. */
const eventsOf = ({ events, startedAtMs = 0 }: PartialView): ViewEvent[] => {
  const distinct = new Map(events.map((event) => [`${event[0]} ${event[1]}`, event]));
  return [...distinct.values()].filter(([, time]) => time >= startedAtMs).toSorted(([, a], [, b]) => a - b);
};

const rowOf = (view: PartialView, errorIdOf: (error: ReportedError) => number | null): CollectedView => {
  const error = errorOf(view);
  return {
    environment_id: view.environmentId!,
    id: view.id,
    is_started: view.startedAtMs !== undefined,
    started_at: new Date(view.startedAtMs ?? view.seenAtMs),
    seen_at: new Date(view.seenAtMs),
    ended_at: view.endedAtMs === undefined ? null : new Date(view.endedAtMs),
    playback_id: view.playbackId ?? null,
    viewer_id: view.viewerId ?? null,
    session_id: view.sessionId ?? null,
    error_id: error ? errorIdOf(error) : null,
    dimensions: Object.fromEntries(view.dimensions),
    details: Object.fromEntries(view.details),
    ranges: view.ranges,
    events: eventsOf(view),
    is_playback_failure: view.error?.isFailure ?? false,
    is_business_exception: view.error?.isBusinessException ?? false,
    ...Object.fromEntries(view.metrics),
  };
};
