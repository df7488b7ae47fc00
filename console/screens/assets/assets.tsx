import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useState } from 'react';
import { assetsQuery, type ListedAsset, PAGE_SIZE, titleOf } from '../../api/assets';
import { usePermission } from '../../api/session';
import { countOf } from '../../lib/format';
import { Button } from '../../ui/button';
import { EmptyState } from '../../ui/empty-state';
import { ErrorNotice, Loading, Page } from '../../ui/page';
import { SearchField } from '../../ui/search-field';
import { StatusFilter } from '../../ui/status-filter';
import { Pager, Table } from '../../ui/table';
import { useListAddress } from '../../ui/use-list-address';
import { UploadButtons } from '../../uploads/upload-buttons';
import { assetColumns } from './asset-columns';
import { FirstAsset } from './first-asset';
import { useDeleteAssets } from './use-delete-assets';

const NEWEST_FIRST = '-created_at';

const statuses = [
  ['ready', 'Ready'],
  ['preparing', 'Preparing'],
  ['errored', 'Errored'],
] as const;

const Assets = (): ReactNode => {
  const [filter, change] = useListAddress(NEWEST_FIRST);
  const mayWrite = usePermission('video:write');
  const { data, error, refetch, isPlaceholderData } = useQuery(assetsQuery(filter));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const search = useCallback((text: string) => change({ search: text }), [change]);
  const isFiltered = filter.status !== undefined || filter.search !== undefined || filter.page > 1;
  if (data?.data.length === 0 && !isFiltered) {
    return (
      <Page title="Assets">
        <FirstAsset />
      </Page>
    );
  }
  return (
    <Page title="Assets" actions={mayWrite && <UploadButtons />}>
      <div className="toolbar">
        <SearchField label="Search titles" value={filter.search ?? ''} onChange={search} />
        <StatusFilter choices={statuses} value={filter.status} onChange={(status) => change({ status })} />
      </div>
      {error && !data && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.data.length === 0 && (
        <EmptyState title="No asset matches">
          <Button onClick={() => change({ status: undefined, search: '' })}>Show all assets</Button>
        </EmptyState>
      )}
      {data && data.data.length > 0 && (
        <div aria-busy={isPlaceholderData}>
          <ListHead
            total={data.total_row_count}
            rows={data.data}
            selected={selected}
            onDeleted={() => setSelected(new Set())}
          />
          <Table
            label="Assets"
            columns={assetColumns}
            rows={data.data}
            keyOf={({ id }) => id}
            nameOf={titleOf}
            sort={filter.sort}
            onSort={(sort) => change({ sort })}
            {...(mayWrite && { selected, onSelect: setSelected })}
          />
          <Pager
            page={filter.page}
            pageSize={PAGE_SIZE}
            total={data.total_row_count}
            onPage={(page) => {
              setSelected(new Set());
              change({ page });
            }}
          />
        </div>
      )}
    </Page>
  );
};
export default Assets;

interface ListHeadProps {
  readonly total: number;
  readonly rows: readonly ListedAsset[];
  readonly selected: ReadonlySet<string>;
  readonly onDeleted: () => void;
}

/** How many there are, or what can be done with those that are selected. */
const ListHead = ({ total, rows, selected, onDeleted }: ListHeadProps): ReactNode => {
  const { deleteAssets, progress } = useDeleteAssets(onDeleted);
  // An asset that has left the list meanwhile is not deleted unseen.
  const chosen = rows.filter(({ id }) => selected.has(id));
  return (
    <div className="list-head">
      <p role="status">
        {progress !== undefined
          ? `Deleting ${progress} of ${chosen.length} …`
          : chosen.length > 0
            ? `${countOf(chosen.length, 'asset')} selected`
            : countOf(total, 'asset')}
      </p>
      {chosen.length > 0 && (
        <Button look="delete" isBusy={progress !== undefined} onClick={() => void deleteAssets(chosen)}>
          Delete
        </Button>
      )}
    </div>
  );
};
