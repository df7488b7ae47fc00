import type { Row } from '../../db/schema.js';
import { findEvent, listEvents as listEventRows } from '../../db/tables/server/event.js';
import { listAttemptsOfEvent } from '../../db/tables/server/webhook-delivery.js';
import { KinoraError } from '../../lib/errors.js';
import { isUuid } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import type { CursorPosition, ListQuery } from '../requests/list-query.js';

export interface EventFilter {
  readonly type?: string | undefined;
  readonly objectType?: string | undefined;
  readonly objectId?: string | undefined;
}

export interface EventPage {
  readonly events: readonly Row<'event'>[];
  /** Null on the last page. */
  readonly next: CursorPosition | null;
}

/** Newest first. */
export const listEvents = async (
  { database }: DomainContext,
  environmentId: string,
  query: ListQuery,
  filter: EventFilter,
): Promise<EventPage> => {
  // One more than requested, to find out whether there is a next page.
  const filters = { ...query, ...filter, limit: query.limit + 1 };
  const rows = await listEventRows(database.queryable, environmentId, filters);
  const events = rows.slice(0, query.limit);
  const last = events.at(-1);
  const more = last !== undefined && rows.length > events.length;
  return { events, next: more ? { createdAt: last.created_at, seq: last.seq } : null };
};

/**
 * Includes every delivery attempt, in order of time.
 * @throws KinoraError `not_found`
 */
export const getEvent = async ({ database }: DomainContext, environmentId: string, eventId: string) => {
  const event = isUuid(eventId) ? await findEvent(database.queryable, environmentId, eventId) : undefined;
  if (!event) throw new KinoraError('not_found');
  return { event, attempts: await listAttemptsOfEvent(database.queryable, eventId) };
};
