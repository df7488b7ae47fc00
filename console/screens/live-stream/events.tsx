import type { ReactNode } from 'react';
import type { LiveStreamDetails } from '../../api/live-streams';
import { EventList } from '../events/event-list';

/** What happened to the live stream itself; events of recordings are those of assets. */
const Events = ({ stream }: { readonly stream: LiveStreamDetails }): ReactNode => (
  <EventList filter={{ objectId: stream.id }} empty="Nothing has happened yet" />
);
export default Events;
