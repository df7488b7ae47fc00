import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Asset, deleteThumbnailTime } from '../../../api/assets';
import { usePermission, useSession } from '../../../api/session';
import { formatCueTime } from '../../../lib/cues';
import { signThumbnail } from '../../../lib/sign-token';
import { Button } from '../../../ui/button';
import { Section } from '../../../ui/page';
import { useAction } from '../../../ui/use-action';

const WIDTH = 480;
const VALID_SECONDS = 3600;

/** The image that players and lists display before the video plays. */
export const PosterSection = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const mayWrite = usePermission('video:write');
  const { thumbnail_time: time } = asset;
  const reset = useAction(() => deleteThumbnailTime(asset.id), {
    done: 'The poster is the default one again.',
    refresh: [
      ['asset', asset.id],
      ['asset', 'list'],
    ],
  });
  return (
    <Section title="Poster">
      <div className="poster-now">
        <PosterImage asset={asset} />
        <div className="stack">
          <p>
            {time === undefined
              ? 'The default: the frame in the middle.'
              : `The frame at ${formatCueTime(time)}. Players and lists display it before the video plays.`}
          </p>
          <p className="field-hint">To choose another one, go to a frame of the video and use it as the poster.</p>
          {mayWrite && time !== undefined && (
            <div>
              <Button isBusy={reset.isPending} onClick={() => reset.mutate(undefined)}>
                Back to the default
              </Button>
            </div>
          )}
        </div>
      </div>
    </Section>
  );
};

const PosterImage = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { environment, image_url: base } = useSession();
  const mayWrite = usePermission('video:write');
  const { playback_ids: ids = [], thumbnail_time: time } = asset;
  const playbackId = ids.find(({ policy }) => policy === 'public') ?? (mayWrite ? ids[0] : undefined);
  const { data: url } = useQuery({
    queryKey: ['poster', playbackId?.id, time],
    // Without a time, the response for the former poster may still be in the browser's cache.
    queryFn: () =>
      signThumbnail(
        base,
        environment.id,
        playbackId!,
        { time: time ?? (asset.duration ?? 0) / 2, width: WIDTH },
        Math.floor(Date.now() / 1000) + VALID_SECONDS,
      ),
    enabled: playbackId !== undefined,
    staleTime: (VALID_SECONDS / 2) * 1000,
  });
  if (!playbackId) return null;
  return url === undefined ? (
    <span className="poster poster-large" />
  ) : (
    <img className="poster poster-large" src={url} alt="Poster" />
  );
};
