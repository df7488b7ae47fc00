import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type LiveStreamDetails, recordingsQuery } from '../../api/live-streams';
import { Button } from '../../ui/button';
import { EmptyState } from '../../ui/empty-state';
import { ErrorNotice, Loading } from '../../ui/page';
import { Table } from '../../ui/table';
import { assetColumns } from '../assets/asset-columns';

/** The assets of the broadcasts, newest first. */
const Recordings = ({ stream }: { readonly stream: LiveStreamDetails }): ReactNode => {
  const query = useInfiniteQuery(recordingsQuery(stream.id));
  const { data: recordings, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  if (!recordings) return error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Loading />;
  if (recordings.length === 0) {
    return (
      <EmptyState title="No recordings yet">
        <p>Each broadcast becomes an asset. Viewers of the asset can rewind to its start while it is live.</p>
      </EmptyState>
    );
  }
  return (
    <>
      <Table label="Recordings" columns={assetColumns} rows={recordings} keyOf={({ id }) => id} />
      {hasNextPage && (
        <div className="part-actions">
          <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show older recordings
          </Button>
        </div>
      )}
    </>
  );
};
export default Recordings;
