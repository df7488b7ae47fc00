import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { Link } from 'wouter';
import { titleOf } from '../../api/assets';
import { LIVE_PAGE_SIZE, type ListedLiveStream, liveStreamsQuery } from '../../api/live-streams';
import { usePermission } from '../../api/session';
import { countOf, formatAgo, formatDate } from '../../lib/format';
import { Button } from '../../ui/button';
import { CodeBlock } from '../../ui/copy';
import { EmptyState } from '../../ui/empty-state';
import { ErrorNotice, Loading, Page } from '../../ui/page';
import { SearchField } from '../../ui/search-field';
import { StatusFilter } from '../../ui/status-filter';
import { type Column, Pager, Table } from '../../ui/table';
import { useListAddress } from '../../ui/use-list-address';
import { LiveStatus } from './live-status';
import { NewLiveStream } from './new-live-stream';

const columns: readonly Column<ListedLiveStream>[] = [
  {
    key: 'title',
    title: 'Title',
    cell: (stream) => (
      <div className="asset-title">
        <Link href={`/live/${stream.id}`} title={titleOf(stream)}>
          {titleOf(stream)}
        </Link>
      </div>
    ),
  },
  { key: 'status', title: 'Status', cell: (stream) => <LiveStatus stream={stream} /> },
  { key: 'latency', title: 'Latency', cell: ({ latency_mode: mode }) => mode },
  {
    key: 'latest',
    title: 'Latest recording',
    cell: ({ latest_recording: latest }) =>
      latest && (
        <Link href={`/assets/${latest.id}`} title={formatDate(latest.created_at)}>
          {formatAgo(latest.created_at)}
        </Link>
      ),
  },
  {
    key: 'created',
    title: 'Created',
    isEnd: true,
    cell: ({ created_at: createdAt }) => <time title={formatDate(createdAt)}>{formatAgo(createdAt)}</time>,
  },
];

const statuses = [
  ['active', 'Live'],
  ['idle', 'Idle'],
  ['disabled', 'Disabled'],
] as const;

/** The live streams of the environment, newest first. */
const LiveStreams = (): ReactNode => {
  const [{ status, search, page }, change] = useListAddress();
  const mayWrite = usePermission('video:write');
  const { data, error, refetch, isPlaceholderData } = useQuery(liveStreamsQuery({ status, search, page }));
  const find = useCallback((text: string) => change({ search: text }), [change]);
  const isFiltered = status !== undefined || search !== undefined || page > 1;
  if (data?.data.length === 0 && !isFiltered) {
    return (
      <Page title="Live streams">
        <FirstLiveStream />
      </Page>
    );
  }
  return (
    <Page title="Live streams" actions={mayWrite && <NewLiveStream />}>
      <div className="toolbar">
        <SearchField label="Search titles" value={search ?? ''} onChange={find} />
        <StatusFilter choices={statuses} value={status} onChange={(chosen) => change({ status: chosen })} />
      </div>
      {error && !data && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.data.length === 0 && (
        <EmptyState title="No live stream matches">
          <Button onClick={() => change({ status: undefined, search: '' })}>Show all live streams</Button>
        </EmptyState>
      )}
      {data && data.data.length > 0 && (
        <div aria-busy={isPlaceholderData}>
          <div className="list-head">
            <p role="status">{countOf(data.total_row_count, 'live stream')}</p>
          </div>
          <Table label="Live streams" columns={columns} rows={data.data} keyOf={({ id }) => id} />
          <Pager
            page={page}
            pageSize={LIVE_PAGE_SIZE}
            total={data.total_row_count}
            onPage={(chosen) => change({ page: chosen })}
          />
        </div>
      )}
    </Page>
  );
};
export default LiveStreams;

const FirstLiveStream = (): ReactNode => {
  const mayWrite = usePermission('video:write');
  return (
    <EmptyState title="No live streams yet">
      <p>
        An encoder, such as OBS, sends to a live stream. Viewers see it seconds later, and each broadcast is recorded as
        an asset.
      </p>
      {mayWrite && <NewLiveStream />}
      <p>{mayWrite ? 'Or create one on the command line:' : 'Create one on the command line:'}</p>
      <CodeBlock text="npx kinora live create --title Harbor --latency low" what="the command" />
    </EmptyState>
  );
};
