import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type Asset, type AssetAv1, type AssetMedia, av1Query, mediaQuery } from '../../api/assets';
import { useSession } from '../../api/session';
import { formatBitRate, formatBytes, formatDate, formatDuration } from '../../lib/format';
import { CopyButton } from '../../ui/copy';
import { type Fact, FactList } from '../../ui/facts';

const origins: Readonly<Record<string, string>> = {
  on_demand_url: 'From a URL',
  on_demand_direct_upload: 'Uploaded',
  on_demand_clip: 'Clip of another asset',
  live_rtmp: 'Broadcast over RTMP',
  live_srt: 'Broadcast over SRT',
};

/** Names of codecs and containers as people write them. */
const formats: Readonly<Record<string, string>> = {
  h264: 'H.264',
  hevc: 'HEVC',
  av1: 'AV1',
  vp8: 'VP8',
  vp9: 'VP9',
  prores: 'ProRes',
  mpeg2video: 'MPEG-2',
  mpeg4: 'MPEG-4',
  mov: 'MP4 or MOV',
  matroska: 'Matroska or WebM',
};
const formatName = (name: string): string => formats[name] ?? name.toUpperCase();

const mediaFacts = (media: AssetMedia): readonly Fact[] => [
  [
    'Codecs',
    [media.video_codec, media.audio_codec]
      .filter((codec) => codec !== null)
      .map(formatName)
      .join(', '),
  ],
  [
    'File',
    [
      formatName(media.container),
      formatBytes(media.size_bytes),
      media.bit_rate !== null && formatBitRate(media.bit_rate),
    ]
      .filter(Boolean)
      .join(', '),
  ],
  [
    'Renditions',
    media.renditions.length > 0 && (
      <ul>
        {media.renditions.map(({ name, width, height, bandwidth, is_copy: isCopy }) => (
          <li key={name}>
            {width} × {height}, up to {formatBitRate(bandwidth)}
            {isCopy && ', as in the file'}
          </li>
        ))}
      </ul>
    ),
  ],
];

const av1Fact = (av1: AssetAv1): Fact => [
  'AV1',
  av1.delivered_bytes > 0 &&
    `${formatBytes(av1.delivered_bytes)} delivered in 30 days, about ${formatBytes(av1.saved_bytes)} less than in H.264`,
];

const factsOf = (
  asset: Asset,
  media: AssetMedia | undefined,
  av1: AssetAv1 | undefined,
  mayOperate: boolean,
): readonly Fact[] => {
  const video = asset.tracks?.find(({ type }) => type === 'video');
  const audio = asset.tracks?.filter(({ type }) => type === 'audio') ?? [];
  const text = asset.tracks?.filter(({ type }) => type === 'text') ?? [];
  const size = video?.max_width && video.max_height ? `${video.max_width} × ${video.max_height}` : undefined;
  const rate = asset.max_stored_frame_rate;
  return [
    ['Duration', asset.duration === undefined || asset.is_live ? undefined : formatDuration(asset.duration)],
    ['Frame size', size && `${size}${asset.aspect_ratio ? ` (${asset.aspect_ratio})` : ''}`],
    ['Frame rate', rate !== undefined && rate > 0 ? `${rate} per second` : undefined],
    ['Audio', audio.map(({ name, language_code: language }) => name ?? language).join(', ') || undefined],
    ['Text tracks', text.map(({ name, language_code: language }) => name ?? language).join(', ') || undefined],
    ...(media ? mediaFacts(media) : []),
    ...(av1 ? [av1Fact(av1)] : []),
    ['Quality', asset.video_quality],
    ['Origin', asset.ingest_type && origins[asset.ingest_type]],
    ['Live stream', asset.live_stream_id && <Link href={`/live/${asset.live_stream_id}`}>Open the live stream</Link>],
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

export const Facts = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { can_administer: mayOperate } = useSession();
  // A file that still grows is described when it is complete.
  const isComplete = asset.status === 'ready' && !asset.is_live;
  const { data: media } = useQuery({ ...mediaQuery(asset.id), enabled: isComplete });
  const { data: av1 } = useQuery({ ...av1Query(asset.id), enabled: isComplete });
  return <FactList facts={factsOf(asset, media, av1, mayOperate)} />;
};
