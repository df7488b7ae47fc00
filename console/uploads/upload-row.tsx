import { useQuery } from '@tanstack/react-query';
import { Pause, Play, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { uploadQuery } from '../api/uploads';
import { formatBytes } from '../lib/format';
import { IconButton } from '../ui/button';
import { ProgressBar } from '../ui/status';
import { pauseUpload, removeUpload, resumeUpload, type UploadItem } from './queue';

const lineOf = ({ state, sent, size, problem }: UploadItem): string => {
  const percent = size === 0 ? 0 : Math.floor((sent / size) * 100);
  if (state === 'queued') return 'Waiting';
  if (state === 'uploading') return size === 0 ? 'Sending …' : `${percent} % of ${formatBytes(size)}`;
  if (state === 'paused') return `Paused at ${percent} %`;
  if (state === 'interrupted') return `Interrupted at ${percent} %. Choose the same file again to continue.`;
  if (state === 'failed') return problem ?? 'Failed';
  return 'Uploaded';
};

export const UploadRow = ({ item }: { readonly item: UploadItem }): ReactNode => {
  const { key, name, state, size, sent, uploadId } = item;
  // The server makes the asset of the file after the last byte, and says so.
  const { data } = useQuery({ ...uploadQuery(uploadId ?? ''), enabled: state === 'sent' && uploadId !== undefined });
  const assetId = item.assetId ?? data?.asset_id;
  const problem = data?.error?.message;
  return (
    <li className="upload" data-state={problem === undefined ? state : 'failed'}>
      <div className="upload-text">
        <span className="upload-name">{assetId ? <Link href={`/assets/${assetId}`}>{name}</Link> : name}</span>
        <span className="upload-line">{problem ?? lineOf(item)}</span>
        {size > 0 && state !== 'sent' && state !== 'failed' && (
          <ProgressBar percent={(sent / size) * 100} label={`Upload of ${name}`} />
        )}
      </div>
      {(state === 'uploading' || state === 'queued') && size > 0 && (
        <IconButton label={`Pause ${name}`} icon={<Pause aria-hidden />} onClick={() => pauseUpload(key)} />
      )}
      {(state === 'paused' || state === 'failed') && (
        <IconButton label={`Resume ${name}`} icon={<Play aria-hidden />} onClick={() => resumeUpload(key)} />
      )}
      <IconButton
        label={state === 'sent' ? `Hide ${name}` : `Cancel ${name}`}
        icon={<X aria-hidden />}
        onClick={() => removeUpload(key)}
      />
    </li>
  );
};
