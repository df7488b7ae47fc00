import { type ReactNode, useState } from 'react';
import { shortId } from '../../../api/assets';
import { addPlaybackId, deletePlaybackId, type PlaybackId } from '../../../api/playback-ids';
import { type Session, usePermission, useSession } from '../../../api/session';
import { Button } from '../../../ui/button';
import { confirm } from '../../../ui/confirm';
import { CodeBlock } from '../../../ui/copy';
import { EmptyState } from '../../../ui/empty-state';
import { Section } from '../../../ui/page';
import { useAction } from '../../../ui/use-action';
import { SignedLink } from './signed-link';

const policies = {
  public: 'Everyone may watch',
  signed: 'Needs a signed link',
  drm: 'DRM, needs a signed link',
} as const;

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

interface PlaybackIdsProps {
  /** Of the asset or the live stream that has them. */
  readonly path: string;
  readonly playbackIds: readonly PlaybackId[];
  /** What pages with the player call it. */
  readonly title: string;
  /** Such as `16:9`, which is also the default. */
  readonly aspectRatio?: string | undefined;
  /** Keys of the queries that a change affects. */
  readonly refresh: readonly (readonly string[])[];
}

/** The code that puts the player into a page. */
const embedCode = (url: string, { title, aspectRatio = '16:9' }: PlaybackIdsProps): string =>
  `<iframe src="${url}" title="${escapeHtml(title)}" style="width: 100%; aspect-ratio: ${aspectRatio.replace(':', ' / ')}; border: 0" allow="autoplay; fullscreen; picture-in-picture; encrypted-media" allowfullscreen></iframe>`;

/** The same with Mux Player, which would otherwise report to its maker. */
const muxPlayerCode = (url: string, { data_host: host, environment }: Session, { title }: PlaybackIdsProps): string =>
  `<mux-player src="${url}.m3u8" metadata-video-title="${escapeHtml(title)}" env-key="${environment.id}" beacon-collection-domain="${host}" disable-cookies></mux-player>`;

/** Playback IDs, and with each what is needed to use it. */
export const PlaybackIds = (props: PlaybackIdsProps): ReactNode => {
  const { path, playbackIds, refresh } = props;
  const mayWrite = usePermission('video:write');
  const add = useAction((policy: 'public' | 'signed') => addPlaybackId(path, { policy }), { refresh });
  return (
    <>
      {playbackIds.length === 0 && <EmptyState title="No playback IDs" />}
      {playbackIds.map((playbackId) => (
        <PlaybackIdSection key={playbackId.id} playbackId={playbackId} owner={props} mayWrite={mayWrite} />
      ))}
      {mayWrite && (
        <div className="form-actions part-actions">
          <Button isBusy={add.isPending} onClick={() => add.mutate('public')}>
            Add a public playback ID
          </Button>
          <Button isBusy={add.isPending} onClick={() => add.mutate('signed')}>
            Add a signed playback ID
          </Button>
        </div>
      )}
    </>
  );
};

interface PlaybackIdProps {
  readonly playbackId: PlaybackId;
  readonly owner: PlaybackIdsProps;
  readonly mayWrite: boolean;
}

const PlaybackIdSection = ({ playbackId, owner, mayWrite }: PlaybackIdProps): ReactNode => {
  const session = useSession();
  const { stream_url: base } = session;
  const { id, policy } = playbackId;
  // One is told from another of the same policy, also by those who hear its name.
  const suffix = owner.playbackIds.length > 1 ? ` ${shortId(id)}` : '';
  const [isCodeShown, setCodeShown] = useState(false);
  const remove = useAction(() => deletePlaybackId(owner.path, id), {
    done: 'Deleted the playback ID.',
    refresh: owner.refresh,
  });
  const ask = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Delete this playback ID?',
      text: 'Links and pages that use it stop working at once. This cannot be undone.',
      action: 'Delete',
    });
    if (isConfirmed) remove.mutate(undefined);
  };
  return (
    <Section
      title={`${policies[policy]}${suffix && ` (${shortId(id)})`}`}
      actions={
        mayWrite && (
          <Button look="delete" isBusy={remove.isPending} onClick={() => void ask()}>
            Delete
          </Button>
        )
      }
    >
      <div className="stack">
        <CodeBlock text={id} what={`playback ID${suffix}`} title="Playback ID" />
        {policy === 'public' ? (
          <>
            <CodeBlock text={`${base}/${id}`} what={`link to the player${suffix}`} title="Player" />
            <CodeBlock text={`${base}/${id}.m3u8`} what={`HLS link${suffix}`} title="HLS" />
            <div>
              <Button aria-expanded={isCodeShown} onClick={() => setCodeShown(!isCodeShown)}>
                Embed code
              </Button>
            </div>
            {isCodeShown && (
              <>
                <CodeBlock text={embedCode(`${base}/${id}`, owner)} what={`embed code${suffix}`} />
                <CodeBlock
                  text={muxPlayerCode(`${base}/${id}`, session, owner)}
                  what={`code for Mux Player${suffix}`}
                  title="Mux Player"
                />
              </>
            )}
          </>
        ) : (
          <SignedLink playbackId={playbackId} />
        )}
      </div>
    </Section>
  );
};
