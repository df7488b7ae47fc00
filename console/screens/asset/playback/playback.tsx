import { type ReactNode, useState } from 'react';
import { type Asset, addPlaybackId, deletePlaybackId, type PlaybackId } from '../../../api/assets';
import { usePermission, useSession } from '../../../api/session';
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

/** The code that puts the player into a page. */
const embedCode = (url: string, asset: Asset): string => {
  const ratio = asset.aspect_ratio?.replace(':', ' / ') ?? '16 / 9';
  return `<iframe src="${url}" title="${escapeHtml(asset.meta?.title || 'Video')}" style="width: 100%; aspect-ratio: ${ratio}; border: 0" allow="autoplay; fullscreen; picture-in-picture; encrypted-media" allowfullscreen></iframe>`;
};

/** Playback IDs, and with each what is needed to use it. */
const Playback = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const mayWrite = usePermission('video:write');
  const refresh = [
    ['asset', asset.id],
    ['asset', 'list'],
  ];
  const add = useAction((policy: 'public' | 'signed') => addPlaybackId(asset.id, { policy }), { refresh });
  const playbackIds = asset.playback_ids ?? [];
  return (
    <>
      {playbackIds.length === 0 && <EmptyState title="No playback IDs" />}
      {playbackIds.map((playbackId) => (
        <PlaybackIdSection key={playbackId.id} asset={asset} playbackId={playbackId} mayWrite={mayWrite} />
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
export default Playback;

interface PlaybackIdProps {
  readonly asset: Asset;
  readonly playbackId: PlaybackId;
  readonly mayWrite: boolean;
}

const PlaybackIdSection = ({ asset, playbackId, mayWrite }: PlaybackIdProps): ReactNode => {
  const { stream_url: base } = useSession();
  const { id, policy } = playbackId;
  const [isCodeShown, setCodeShown] = useState(false);
  const remove = useAction(() => deletePlaybackId(asset.id, id), {
    done: 'Deleted the playback ID.',
    refresh: [
      ['asset', asset.id],
      ['asset', 'list'],
    ],
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
      title={policies[policy]}
      actions={
        mayWrite && (
          <Button look="delete" isBusy={remove.isPending} onClick={() => void ask()}>
            Delete
          </Button>
        )
      }
    >
      <div className="stack">
        <CodeBlock text={id} what="playback ID" title="Playback ID" />
        {policy === 'public' ? (
          <>
            <CodeBlock text={`${base}/${id}`} what="link to the player" title="Player" />
            <CodeBlock text={`${base}/${id}.m3u8`} what="HLS link" title="HLS" />
            <div>
              <Button aria-expanded={isCodeShown} onClick={() => setCodeShown(!isCodeShown)}>
                Embed code
              </Button>
            </div>
            {isCodeShown && <CodeBlock text={embedCode(`${base}/${id}`, asset)} what="embed code" />}
          </>
        ) : (
          <SignedLink playbackId={playbackId} />
        )}
      </div>
    </Section>
  );
};
