import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { type Asset, assetQuery, createClip, titleOf } from '../../../api/assets';
import { formatCueTime } from '../../../lib/cues';
import { Button } from '../../../ui/button';
import { TextField } from '../../../ui/field';
import { Section } from '../../../ui/page';
import { ProgressBar, Status } from '../../../ui/status';
import { useAction } from '../../../ui/use-action';
import { percentOf } from '../../assets/asset-columns';
import { usePlayer } from '../player';
import { useClipTimes } from './use-clip-times';

const SHORTEST_SECONDS = 0.5;

/** Plays from one time to another. */
const playBetween = (video: HTMLVideoElement, start: number, end: number): void => {
  const stopAtEnd = (): void => {
    if (video.currentTime < end) return;
    video.pause();
  };
  video.addEventListener('timeupdate', stopAtEnd);
  video.addEventListener('pause', () => video.removeEventListener('timeupdate', stopAtEnd), { once: true });
  video.currentTime = start;
  video.play().catch(() => undefined);
};

/** Makes a new asset of a part of the video. */
export const ClipSection = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { video } = usePlayer();
  const [{ start = 0, end = asset.duration ?? 0 }] = useClipTimes();
  const [title, setTitle] = useState(`Clip of ${titleOf(asset)}`);
  const [clips, setClips] = useState<readonly string[]>([]);
  const create = useAction(() => createClip(asset, { startSeconds: start, endSeconds: end, title: title.trim() }), {
    refresh: [['asset', 'list']],
    onDone: ({ id }) => setClips((previous) => [id, ...previous]),
  });
  const isTooShort = end - start < SHORTEST_SECONDS;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate(undefined);
  };
  return (
    <Section title="Clip">
      <div className="stack">
        <p>
          From {formatCueTime(start)} to {formatCueTime(end)}
          {isTooShort ? '' : `: ${formatCueTime(end - start)} long`}.
        </p>
        {isTooShort && (
          <p className="field-error" role="status">
            A clip ends at least half a second after its start. Choose other frames beside the player.
          </p>
        )}
        <form className="form-row form" onSubmit={submit}>
          <TextField label="Title" value={title} maxLength={512} onChange={({ target }) => setTitle(target.value)} />
          <Button disabled={!video || isTooShort} onClick={() => video && playBetween(video, start, end)}>
            Play the clip
          </Button>
          <Button type="submit" look="primary" disabled={isTooShort} isBusy={create.isPending}>
            Make the clip
          </Button>
        </form>
        <p className="field-hint">
          A clip is an asset of its own. It gets a playback ID with the same policy as this asset.
        </p>
        {clips.length > 0 && (
          <ul className="entries" aria-label="New clips">
            {clips.map((id) => (
              <NewClip key={id} id={id} />
            ))}
          </ul>
        )}
      </div>
    </Section>
  );
};

/** How far a clip is, and the way to it. */
const NewClip = ({ id }: { readonly id: string }): ReactNode => {
  const { data: clip } = useQuery(assetQuery(id));
  if (!clip) return null;
  const percent = percentOf(clip);
  return (
    <li className="entry new-clip">
      <Link href={`/assets/${id}`}>{titleOf(clip)}</Link>
      <Status status={clip.status} percent={percent} />
      {clip.status === 'preparing' && <ProgressBar percent={percent ?? 0} label={`Progress of ${titleOf(clip)}`} />}
    </li>
  );
};
