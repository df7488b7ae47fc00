import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type Asset, type ListedAsset, titleOf } from '../../api/assets';
import { formatAgo, formatDate, formatDuration } from '../../lib/format';
import { ProgressBar, Status } from '../../ui/status';
import type { Column } from '../../ui/table';
import { Poster } from './poster';

/** The share that is done, while there is one to tell. */
export const percentOf = ({ status, progress }: Pick<Asset, 'status' | 'progress'>): number | undefined =>
  status === 'preparing' && progress && progress.progress > 0 ? progress.progress : undefined;

/** The status of an asset; “Live” while it is recorded. */
export const AssetStatus = ({ asset }: { readonly asset: Asset }): ReactNode =>
  asset.is_live && asset.status === 'ready' ? (
    <Status status="live" />
  ) : (
    <Status status={asset.status} percent={percentOf(asset)} />
  );

const Title = ({ asset }: { readonly asset: ListedAsset }): ReactNode => {
  const percent = percentOf(asset);
  return (
    <div className="asset-title">
      <Link href={`/assets/${asset.id}`} title={titleOf(asset)}>
        {titleOf(asset)}
      </Link>
      {asset.status === 'errored' && asset.errors && <p className="asset-problem">{asset.errors.messages[0]}</p>}
      {percent !== undefined && <ProgressBar percent={percent} label={`Progress of ${titleOf(asset)}`} />}
    </div>
  );
};

export const assetColumns: readonly Column<ListedAsset>[] = [
  { key: 'poster', title: 'Poster', isTitleHidden: true, cell: (asset) => <Poster asset={asset} /> },
  { key: 'title', title: 'Title', sort: 'title', cell: (asset) => <Title asset={asset} /> },
  {
    key: 'status',
    title: 'Status',
    cell: (asset) => <AssetStatus asset={asset} />,
  },
  {
    key: 'duration',
    title: 'Duration',
    isEnd: true,
    sort: 'duration',
    // That of a broadcast is known when it has ended.
    cell: ({ duration, is_live: isLive }) => (duration === undefined || isLive ? '–' : formatDuration(duration)),
  },
  {
    key: 'created',
    title: 'Created',
    isEnd: true,
    sort: 'created_at',
    cell: ({ created_at: createdAt }) => <time title={formatDate(createdAt)}>{formatAgo(createdAt)}</time>,
  },
];
