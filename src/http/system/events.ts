import { serializeEvent, serializeEventWithAttempts } from '../../api/serialize/event.js';
import { lastOf, readListQuery } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import { getEvent, listEvents } from '../../domain/events/list-events.js';
import { MAX_ATTEMPTS } from '../../domain/webhooks/retry-timetable.js';
import type { Route } from '../plugins/operation-route.js';

export const eventRoutes = (route: Route, context: DomainContext): void => {
  route('listEvents', async ({ caller, query }) => {
    const filter = {
      type: lastOf(query.type),
      objectType: lastOf(query.object_type),
      objectId: lastOf(query.object_id),
    };
    const page = await listEvents(context, caller.environment.id, readListQuery(query), filter);
    return { data: page.events.map(serializeEvent), next_cursor: page.nextCursor };
  });

  route('getEvent', async ({ caller, params }) => {
    const { event, attempts } = await getEvent(context, caller.environment.id, params.eventId!);
    return { data: serializeEventWithAttempts(event, attempts, MAX_ATTEMPTS) };
  });
};
