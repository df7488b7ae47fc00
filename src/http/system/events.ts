import { serializeEvent, serializeEventWithAttempts } from '../../api/responses/event.js';
import { encodeCursor, readListQuery } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import { getEvent, listEvents } from '../../domain/events/list-events.js';
import { MAX_ATTEMPTS } from '../../domain/webhooks/retry-timetable.js';
import { lastOf } from '../../lib/last-of.js';
import type { Route } from '../plugins/operation-route.js';

export const eventRoutes = (route: Route, context: DomainContext): void => {
  route('listEvents', async ({ caller, query }) => {
    const filter = {
      type: lastOf(query.type),
      objectType: lastOf(query.object_type),
      objectId: lastOf(query.object_id),
    };
    const page = await listEvents(context, caller.environment.id, readListQuery(query), filter);
    return { data: page.events.map(serializeEvent), next_cursor: page.next && encodeCursor(page.next) };
  });

  route('getEvent', async ({ caller, params }) => {
    const { event, attempts } = await getEvent(context, caller.environment.id, params.eventId!);
    return { data: serializeEventWithAttempts(event, attempts, MAX_ATTEMPTS) };
  });
};
