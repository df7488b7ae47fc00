import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type Asset, type Track, trackErrorsQuery } from '../../../api/assets';
import { usePermission } from '../../../api/session';
import { deleteTrack } from '../../../api/tracks';
import { Button } from '../../../ui/button';
import { confirm } from '../../../ui/confirm';
import { Section } from '../../../ui/page';
import { Status } from '../../../ui/status';
import { type Column, Table } from '../../../ui/table';
import { useAction } from '../../../ui/use-action';
import { AddAudioTrack, AddTextTrack, EditTrack, GenerateSubtitles } from './track-dialogs';

const types = { video: 'Video', audio: 'Audio', text: 'Text' } as const;
const sources: Readonly<Record<string, string>> = {
  embedded: 'from the video',
  generated_live: 'generated live',
  generated_live_final: 'generated',
  generated_vod: 'generated',
};

const detailsOf = ({
  primary,
  max_channels: channels,
  closed_captions: captions,
  text_source: source,
}: Track): string =>
  [
    primary && 'main audio',
    channels !== undefined && (channels === 1 ? 'mono' : channels === 2 ? 'stereo' : `${channels} channels`),
    captions && 'closed captions',
    source !== undefined && sources[source],
  ]
    .filter(Boolean)
    .join(', ');

const nameOf = ({ name, language_code: language, type }: Track): string =>
  name ?? language ?? (type === 'video' ? 'Main video' : types[type]);

const columns: readonly Column<Track>[] = [
  {
    key: 'name',
    title: 'Name',
    cell: (track) => (
      <>
        {nameOf(track)}
        <p className="field-hint">{types[track.type]}</p>
      </>
    ),
  },
  { key: 'language', title: 'Language', isWide: true, cell: ({ language_code: language }) => language ?? '–' },
  { key: 'details', title: 'Details', isWide: true, cell: detailsOf },
];

/** The video, its audio and its texts. */
const Tracks = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const mayWrite = usePermission('video:write');
  const { data: errors } = useQuery(trackErrorsQuery(asset));
  if (asset.status !== 'ready') return <p>Tracks can be added when the asset is ready.</p>;
  const status: Column<Track> = {
    key: 'status',
    title: 'Status',
    cell: ({ id, status = 'ready' }) => (
      <>
        <Status status={status} />
        {errors?.[id] && <p className="field-error">{errors[id].messages.join(' ')}</p>}
      </>
    ),
  };
  const actions: Column<Track> = {
    key: 'actions',
    title: 'Actions',
    isTitleHidden: true,
    isEnd: true,
    cell: (track) => <TrackActions asset={asset} track={track} />,
  };
  return (
    <Section
      title="Tracks"
      actions={
        mayWrite && (
          <>
            <AddTextTrack asset={asset} />
            <AddAudioTrack asset={asset} />
          </>
        )
      }
    >
      <Table
        label="Tracks"
        columns={mayWrite ? [...columns, status, actions] : [...columns, status]}
        rows={asset.tracks ?? []}
        keyOf={({ id }) => id}
      />
    </Section>
  );
};
export default Tracks;

interface TrackActionsProps {
  readonly asset: Asset;
  readonly track: Track;
}

const TrackActions = ({ asset, track }: TrackActionsProps): ReactNode => {
  const { id, type, status, primary, text_source: source } = track;
  const name = nameOf(track);
  const remove = useAction(() => deleteTrack(asset.id, id), {
    done: 'Deleted the track.',
    refresh: [['asset', asset.id]],
  });
  const ask = async (): Promise<void> => {
    const text = 'Players stop offering it at once. This cannot be undone.';
    if (await confirm({ title: `Delete the track ${name}?`, text, action: 'Delete' })) remove.mutate(undefined);
  };
  if (type === 'video') return null;
  return (
    <div className="row-actions">
      {type === 'text' && status === 'ready' && source !== 'generated_live' && (
        <Link
          className="button button-normal"
          href={`/assets/${asset.id}/tracks?cues=${id}`}
          aria-label={`Edit cues of ${name}`}
        >
          Edit cues
        </Link>
      )}
      {type === 'audio' && status === 'ready' && <GenerateSubtitles asset={asset} track={track} name={name} />}
      <EditTrack asset={asset} track={track} name={name} />
      {!primary && (
        <Button look="delete" isBusy={remove.isPending} aria-label={`Delete ${name}`} onClick={() => void ask()}>
          Delete
        </Button>
      )}
    </div>
  );
};
