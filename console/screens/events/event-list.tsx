import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { shortId } from '../../api/assets';
import { type ApiEvent, type EventFilter, eventsQuery, titleOfEvent } from '../../api/events';
import { formatAgo, formatDate } from '../../lib/format';
import { shownJson } from '../../lib/shown-json';
import { Button } from '../../ui/button';
import { CodeBlock } from '../../ui/copy';
import { EmptyState } from '../../ui/empty-state';
import { ErrorNotice, Loading } from '../../ui/page';

interface EventListProps {
  readonly filter: EventFilter;
  /** What is said when there is none. */
  readonly empty: string;
}

/** Events, newest first. */
export const EventList = ({ filter, empty }: EventListProps): ReactNode => {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    eventsQuery(filter),
  );
  if (!data) return error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Loading />;
  const events = data.pages.flatMap((page) => page.data);
  if (events.length === 0) return <EmptyState title={empty} />;
  return (
    <>
      <ul className="entries">
        {events.map((event) => (
          <li key={event.id}>
            <EventEntry event={event} />
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older events
        </Button>
      )}
    </>
  );
};

/** The screens of objects that have one, and what they are called. */
const screenOf = ({ type, id }: ApiEvent['object']): readonly [path: string, text: string] | undefined => {
  if (type === 'asset') return [`/assets/${id}`, 'Open the asset'];
  return type === 'live' ? [`/live/${id}`, 'Open the live stream'] : undefined;
};

const EventEntry = ({ event }: { readonly event: ApiEvent }): ReactNode => {
  const screen = screenOf(event.object);
  return (
    <details className="entry">
      <summary>
        <span className="entry-title">{event.type}</span>
        <span className="entry-side">
          <span className="entry-name">
            {titleOfEvent(event) ?? `${event.object.type} ${shortId(event.object.id)}`}
          </span>
          <time title={formatDate(event.created_at)}>{formatAgo(event.created_at)}</time>
        </span>
      </summary>
      <div className="entry-body">
        {screen && <Link href={screen[0]}>{screen[1]}</Link>}
        <CodeBlock text={shownJson(event)} what="event" />
      </div>
    </details>
  );
};
