import { Pause, Play, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { formatBytes } from '../lib/format';
import { IconButton } from '../ui/button';
import { ProgressBar } from '../ui/status';
import { pauseUpload, removeUpload, resumeUpload, type UploadItem } from './queue';
import type { Outcome } from './use-outcomes';

const lineOf = ({ state, sent, size, problem }: UploadItem, outcome: Outcome | undefined): string => {
  const percent = size === 0 ? 0 : Math.floor((sent / size) * 100);
  if (state === 'queued') return 'Waiting';
  if (state === 'uploading') return size === 0 ? 'Sending …' : `${percent} % of ${formatBytes(size)}`;
  if (state === 'paused') return `Paused at ${percent} %`;
  if (state === 'interrupted') return `Interrupted at ${percent} %. Choose the same file again to continue.`;
  if (state === 'failed') return problem ?? 'Failed';
  if (outcome?.status === 'ready') return 'Ready';
  if (outcome?.status === 'errored') return outcome.problem ?? 'The video could not be processed.';
  return outcome?.percent ? `Uploaded. Preparing, ${Math.floor(outcome.percent)} %` : 'Uploaded. Preparing …';
};

interface UploadRowProps {
  readonly item: UploadItem;
  /** When the server has the file. */
  readonly outcome: Outcome | undefined;
}

export const UploadRow = ({ item, outcome }: UploadRowProps): ReactNode => {
  const { key, name, state, size, sent } = item;
  const assetId = outcome?.assetId;
  return (
    <li className="upload" data-state={outcome?.status === 'errored' ? 'failed' : state}>
      <div className="upload-text">
        <span className="upload-name">{assetId ? <Link href={`/assets/${assetId}`}>{name}</Link> : name}</span>
        <span className="upload-line">{lineOf(item, outcome)}</span>
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
