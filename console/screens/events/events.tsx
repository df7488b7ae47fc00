import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { Link, useSearchParams } from 'wouter';
import { shortId } from '../../api/assets';
import { type ApiEvent, type EventFilter, eventsQuery, titleOfEvent } from '../../api/events';
import { formatAgo, formatDate } from '../../lib/format';
import { Button } from '../../ui/button';
import { CodeBlock } from '../../ui/copy';
import { EmptyState } from '../../ui/empty-state';
import { ErrorNotice, Loading, Page } from '../../ui/page';
import { SearchField } from '../../ui/search-field';

/** Types have dots, IDs do not. */
const filterOf = (search: string): EventFilter =>
  search === '' ? {} : search.includes('.') ? { type: search } : { objectId: search };

/** What happened in the environment, newest first. */
const Events = (): ReactNode => {
  const [params, setParams] = useSearchParams();
  const search = params.get('search') ?? '';
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    eventsQuery(filterOf(search)),
  );
  const change = useCallback(
    (text: string) => setParams(text.trim() === '' ? {} : { search: text.trim() }, { replace: true }),
    [setParams],
  );
  const events = data?.pages.flatMap((page) => page.data);
  return (
    <Page title="Events">
      <div className="toolbar">
        <SearchField label="Type, such as video.asset.ready, or ID of an asset" value={search} onChange={change} />
      </div>
      {!events && (error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Loading />)}
      {events?.length === 0 && <EmptyState title={search ? 'No event matches' : 'Nothing has happened yet'} />}
      {events && events.length > 0 && (
        <ul className="entries">
          {events.map((event) => (
            <li key={event.id}>
              <EventEntry event={event} />
            </li>
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older events
        </Button>
      )}
    </Page>
  );
};
export default Events;

const EventEntry = ({ event }: { readonly event: ApiEvent }): ReactNode => (
  <details className="entry">
    <summary>
      <span className="entry-title">{event.type}</span>
      <span className="entry-side">
        <span className="entry-name">{titleOfEvent(event) ?? `${event.object.type} ${shortId(event.object.id)}`}</span>
        <time title={formatDate(event.created_at)}>{formatAgo(event.created_at)}</time>
      </span>
    </summary>
    <div className="entry-body">
      {event.object.type === 'asset' && <Link href={`/assets/${event.object.id}`}>Open the asset</Link>}
      <CodeBlock text={JSON.stringify(event, null, 2)} what="event" />
    </div>
  </details>
);
