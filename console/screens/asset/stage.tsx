import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Asset, PlaybackId } from '../../api/assets';
import { titleOf } from '../../api/assets';
import { useSession } from '../../api/session';
import { signPage } from '../../lib/sign-token';
import { ErrorNotice, Loading } from '../../ui/page';
import { ProgressBar } from '../../ui/status';
import { PlayerFrame } from './player';
import { ProblemPanel } from './problem-panel';

/** Of the token with which the console itself plays. */
const PREVIEW_SECONDS = 12 * 3600;

/** What the asset shows: its player, how far it is, or why it failed. */
export const Stage = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { status, progress, playback_ids: playbackIds = [] } = asset;
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
  // One that everyone may watch needs no token.
  const playbackId = playbackIds.find(({ policy }) => policy === 'public') ?? playbackIds[0];
  if (!playbackId) {
    return (
      <div className="stage stage-empty">
        <p>This asset has no playback ID, so nothing can play it. Add one under “Playback”.</p>
      </div>
    );
  }
  return playbackId.policy === 'public' ? (
    <PlayerFrame url={`/${playbackId.id}`} title={titleOf(asset)} />
  ) : (
    <SignedPlayer playbackId={playbackId} title={titleOf(asset)} />
  );
};

const SignedPlayer = ({
  playbackId,
  title,
}: {
  readonly playbackId: PlaybackId;
  readonly title: string;
}): ReactNode => {
  const { environment } = useSession();
  const { data, error } = useQuery({
    queryKey: ['preview', playbackId.id],
    queryFn: () => signPage('', environment.id, playbackId, Math.floor(Date.now() / 1000) + PREVIEW_SECONDS),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error) return <ErrorNotice error={error} />;
  return data === undefined ? <Loading /> : <PlayerFrame url={data} title={title} />;
};
