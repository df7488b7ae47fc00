import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Asset } from '../../api/assets';
import { useSession } from '../../api/session';
import { formatDate, formatDuration } from '../../lib/format';
import { CopyButton } from '../../ui/copy';

const origins: Readonly<Record<string, string>> = {
  on_demand_url: 'From a URL',
  on_demand_direct_upload: 'Uploaded',
  on_demand_clip: 'Clip of another asset',
};

const factsOf = (asset: Asset, mayOperate: boolean): readonly (readonly [name: string, value: ReactNode])[] => {
  const video = asset.tracks?.find(({ type }) => type === 'video');
  const audio = asset.tracks?.filter(({ type }) => type === 'audio') ?? [];
  const text = asset.tracks?.filter(({ type }) => type === 'text') ?? [];
  const size = video?.max_width && video.max_height ? `${video.max_width} × ${video.max_height}` : undefined;
  const rate = asset.max_stored_frame_rate;
  return [
    ['Duration', asset.duration === undefined ? undefined : formatDuration(asset.duration)],
    ['Size', size && `${size}${asset.aspect_ratio ? ` (${asset.aspect_ratio})` : ''}`],
    ['Frame rate', rate !== undefined && rate > 0 ? `${rate} per second` : undefined],
    ['Audio', audio.map(({ name, language_code: language }) => name ?? language).join(', ') || undefined],
    ['Text tracks', text.map(({ name, language_code: language }) => name ?? language).join(', ') || undefined],
    ['Quality', asset.video_quality],
    ['Origin', asset.ingest_type && origins[asset.ingest_type]],
    ['Created', formatDate(asset.created_at)],
    [
      'Asset ID',
      <span key="id" className="id">
        <code>{asset.id}</code> <CopyButton text={asset.id} what="asset ID" />
      </span>,
    ],
    ['Jobs', mayOperate && <Link href={`/operations?asset=${asset.id}`}>Jobs of this asset</Link>],
  ];
};

export const Facts = ({ asset }: { readonly asset: Asset }): ReactNode => (
  <dl className="facts">
    {factsOf(asset, useSession().can_administer).map(
      ([name, value]) =>
        value && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);
