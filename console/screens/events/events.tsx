import { type ReactNode, useCallback } from 'react';
import { useSearchParams } from 'wouter';
import type { EventFilter } from '../../api/events';
import { Page } from '../../ui/page';
import { SearchField } from '../../ui/search-field';
import { EventList } from './event-list';

/** Types have dots, IDs do not. */
const filterOf = (search: string): EventFilter =>
  search === '' ? {} : search.includes('.') ? { type: search } : { objectId: search };

/** What happened in the environment, newest first. */
const Events = (): ReactNode => {
  const [params, setParams] = useSearchParams();
  const search = params.get('search') ?? '';
  const change = useCallback(
    (text: string) => setParams(text.trim() === '' ? {} : { search: text.trim() }, { replace: true }),
    [setParams],
  );
  return (
    <Page title="Events">
      <div className="toolbar">
        <SearchField
          label="Type, such as video.asset.ready, or ID of an asset or live stream"
          value={search}
          onChange={change}
        />
      </div>
      <EventList filter={filterOf(search)} empty={search ? 'No event matches' : 'Nothing has happened yet'} />
    </Page>
  );
};
export default Events;
