import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { PlaybackId } from '../../api/playback-ids';
import { useSession } from '../../api/session';
import { signPage } from '../../lib/sign-token';
import { ErrorNotice, Loading } from '../../ui/page';
import { PlayerFrame } from './player';

/** Of the token with which the console itself plays. */
const PREVIEW_SECONDS = 12 * 3600;

interface PlaybackPlayerProps {
  readonly playbackIds: readonly PlaybackId[] | undefined;
  /** Of what is played. */
  readonly title: string;
  /** What has the playback IDs, for the sentence that there are none: "This asset". */
  readonly owner: string;
}

/** The player page of one of the playback IDs. */
export const PlaybackPlayer = ({ playbackIds = [], title, owner }: PlaybackPlayerProps): ReactNode => {
  // One that everyone may watch needs no token.
  const playbackId = playbackIds.find(({ policy }) => policy === 'public') ?? playbackIds[0];
  if (!playbackId) {
    return (
      <div className="stage stage-empty">
        <p>{owner} has no playback ID, so nothing can play it. Add one under “Playback”.</p>
      </div>
    );
  }
  return playbackId.policy === 'public' ? (
    <PlayerFrame url={`/${playbackId.id}`} title={title} />
  ) : (
    <SignedPlayer playbackId={playbackId} title={title} />
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
