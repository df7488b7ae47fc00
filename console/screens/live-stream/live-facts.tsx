import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { assetQuery } from '../../api/assets';
import type { LiveStream } from '../../api/live-streams';
import { formatDate, formatSpan } from '../../lib/format';
import { CopyButton } from '../../ui/copy';
import { FactList } from '../../ui/facts';

const policies = { public: 'everyone', signed: 'signed link', drm: 'DRM' } as const;

export const LiveFacts = ({ stream }: { readonly stream: LiveStream }): ReactNode => {
  const { id, active_asset_id: assetId, new_asset_settings: settings } = stream;
  return (
    <FactList
      facts={[
        ['On air', assetId !== undefined && <ActiveRecording assetId={assetId} />],
        ['Protocol', stream.active_ingest_protocol?.toUpperCase()],
        ['Latency', stream.latency_mode],
        [
          'Reconnect',
          stream.reconnect_window > 0 ? `within ${formatSpan(stream.reconnect_window)}` : 'begins a new broadcast',
        ],
        ['Longest', formatSpan(stream.max_continuous_duration)],
        [
          'Recordings',
          (settings.playback_policies ?? []).map((policy) => policies[policy]).join(', ') || 'without a playback ID',
        ],
        ['Audio only', stream.audio_only && 'yes'],
        ['Test', stream.test && 'ends after 5 minutes'],
        ['Created', formatDate(stream.created_at)],
        [
          'Stream ID',
          <span key="id" className="id">
            <code>{id}</code> <CopyButton text={id} what="stream ID" />
          </span>,
        ],
      ]}
    />
  );
};

/** Since when the broadcast is recorded, and the way to its asset. */
const ActiveRecording = ({ assetId }: { readonly assetId: string }): ReactNode => {
  const { data: asset } = useQuery(assetQuery(assetId));
  return (
    <>
      {asset && <p>since {formatDate(asset.created_at)}</p>}
      <Link href={`/assets/${assetId}`}>Open the recording</Link>
    </>
  );
};
