import type { ReactNode } from 'react';
import { type Asset, titleOf } from '../../api/assets';
import { ProgressBar } from '../../ui/status';
import { PlaybackPlayer } from './playback-player';
import { ProblemPanel } from './problem-panel';

/** What the asset shows: its player, how far it is, or why it failed. */
export const Stage = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { status, progress } = asset;
  if (status === 'errored') return <ProblemPanel asset={asset} />;
  if (status === 'preparing') {
    const percent = progress?.progress ?? 0;
    return (
      <div className="stage stage-empty">
        <p role="status">{progress?.state === 'transcoding' ? 'Transcoding …' : 'Preparing …'}</p>
        {percent > 0 && <ProgressBar percent={percent} label="Progress" />}
        <p className="field-hint">The player appears here when it is ready.</p>
      </div>
    );
  }
  return <PlaybackPlayer playbackIds={asset.playback_ids} title={titleOf(asset)} owner="This asset" />;
};
