import { type FormEvent, type ReactNode, useState } from 'react';
import { type Asset, addRendition, deleteRendition, type StaticRendition, setMasterAccess } from '../../../api/assets';
import { usePermission, useSession } from '../../../api/session';
import { formatBytes } from '../../../lib/format';
import { Button } from '../../../ui/button';
import { SelectField } from '../../../ui/field';
import { Section } from '../../../ui/page';
import { Status } from '../../../ui/status';
import { type Column, Table } from '../../../ui/table';
import { useAction } from '../../../ui/use-action';

const resolutions = [
  ['highest', 'Highest'],
  ['1080p', '1080p'],
  ['720p', '720p'],
  ['540p', '540p'],
  ['480p', '480p'],
  ['360p', '360p'],
  ['270p', '270p'],
  ['audio-only', 'Audio only'],
] as const;

/** Files to download: renditions of the video, and its master. */
const Files = ({ asset }: { readonly asset: Asset }): ReactNode => {
  if (asset.status !== 'ready') return <p>Files can be made when the asset is ready.</p>;
  return (
    <>
      <Renditions asset={asset} />
      <Master asset={asset} />
    </>
  );
};
export default Files;

const Renditions = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { stream_url: base } = useSession();
  const mayWrite = usePermission('video:write');
  const refresh = [['asset', asset.id]];
  const add = useAction((resolution: string) => addRendition(asset.id, resolution), { refresh });
  const remove = useAction((id: string) => deleteRendition(asset.id, id), { refresh, done: 'Deleted the file.' });
  const [resolution, setResolution] = useState('highest');
  const publicId = asset.playback_ids?.find(({ policy }) => policy === 'public')?.id;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate(resolution);
  };
  const columns: readonly Column<StaticRendition>[] = [
    { key: 'name', title: 'File', cell: ({ name }) => name },
    { key: 'status', title: 'Status', cell: ({ status }) => <Status status={status} /> },
    {
      key: 'size',
      title: 'Size',
      isEnd: true,
      cell: ({ filesize }) => (filesize === undefined ? '–' : formatBytes(Number(filesize))),
    },
    {
      key: 'actions',
      title: 'Actions',
      isTitleHidden: true,
      isEnd: true,
      cell: ({ id, name, status }) => (
        <div className="row-actions">
          {status === 'ready' && publicId !== undefined && (
            <a
              className="button button-normal"
              href={`${base}/${publicId}/${name}?download=${encodeURIComponent(name)}`}
            >
              Download
            </a>
          )}
          {mayWrite && (
            <Button look="delete" aria-label={`Delete ${name}`} onClick={() => remove.mutate(id)}>
              Delete
            </Button>
          )}
        </div>
      ),
    },
  ];
  const files = asset.static_renditions?.files.filter(({ status }) => status !== 'deleted') ?? [];
  return (
    <Section title="Renditions">
      <div className="stack">
        <p className="field-hint">MP4 and M4A files, for downloads and for devices that can't stream.</p>
        {files.length > 0 && <Table label="Renditions" columns={columns} rows={files} keyOf={({ id }) => id} />}
        {files.length > 0 && publicId === undefined && (
          <p className="field-hint">Downloads from here need a public playback ID.</p>
        )}
        {mayWrite && (
          <form className="form-row form" onSubmit={submit}>
            <SelectField
              label="Resolution"
              options={resolutions}
              value={resolution}
              onChange={({ target }) => setResolution(target.value)}
            />
            <Button type="submit" isBusy={add.isPending}>
              Make a file
            </Button>
          </form>
        )}
      </div>
    </Section>
  );
};

const Master = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const mayWrite = usePermission('video:write');
  const change = useAction((access: Asset['master_access']) => setMasterAccess(asset.id, access), {
    refresh: [['asset', asset.id]],
  });
  const { master } = asset;
  return (
    <Section title="Master">
      <div className="stack">
        <p className="field-hint">The video in its best quality. The link works for 24 hours.</p>
        <div className="form-actions" role="status">
          {master?.status === 'ready' && master.url !== undefined && (
            <a className="button button-primary" href={master.url} download>
              Download the master
            </a>
          )}
          {master?.status === 'preparing' && <Status status="preparing" text="The master is being made …" />}
          {master?.status === 'errored' && <Status status="errored" text="The master could not be made" />}
        </div>
        {mayWrite && (
          <div className="form-actions">
            {asset.master_access === 'none' || master?.status === 'errored' ? (
              <Button isBusy={change.isPending} onClick={() => change.mutate('temporary')}>
                Request the master
              </Button>
            ) : (
              <Button look="quiet" isBusy={change.isPending} onClick={() => change.mutate('none')}>
                End access to the master
              </Button>
            )}
          </div>
        )}
      </div>
    </Section>
  );
};
