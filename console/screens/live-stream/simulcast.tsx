import { Trash2 } from 'lucide-react';
import type { ReactNode } from 'react';
import {
  addSimulcastTarget,
  deleteSimulcastTarget,
  type LiveStreamDetails,
  liveStreamKeys,
  type SimulcastTarget,
} from '../../api/live-streams';
import { usePermission } from '../../api/session';
import { IconButton } from '../../ui/button';
import { confirm } from '../../ui/confirm';
import { TextField } from '../../ui/field';
import { FormDialog } from '../../ui/form-dialog';
import { Section } from '../../ui/page';
import { Status } from '../../ui/status';
import { type Column, Table } from '../../ui/table';
import { useAction } from '../../ui/use-action';

const ERRORS = { normal: 'Errored, is tried again', fatal: 'Errored, gets no more of this broadcast' } as const;

const columns: readonly Column<SimulcastTarget>[] = [
  { key: 'asset', title: 'URL', cell: ({ url }) => url },
  {
    key: 'status',
    title: 'Status',
    cell: ({ status, error_severity: severity }) => <Status status={status} text={severity && ERRORS[severity]} />,
  },
  { key: 'passthrough', title: 'Passthrough', isWide: true, cell: ({ passthrough }) => passthrough ?? '–' },
];

/** Services that get a copy of each broadcast. */
const Simulcast = ({ stream }: { readonly stream: LiveStreamDetails }): ReactNode => {
  const { id, simulcast_targets: targets = [] } = stream;
  const isIdle = !stream.active_asset_id && !stream.connected;
  const mayChange = usePermission('video:write') && isIdle;
  const remove = useAction((targetId: string) => deleteSimulcastTarget(id, targetId), {
    done: 'Deleted the target.',
    refresh: liveStreamKeys(id),
  });
  const ask = async ({ id: targetId, url }: SimulcastTarget): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Delete this target?',
      text: `${url} no longer gets a copy of broadcasts.`,
      action: 'Delete',
    });
    if (isConfirmed) remove.mutate(targetId);
  };
  const removeColumn: Column<SimulcastTarget> = {
    key: 'remove',
    title: 'Delete',
    isTitleHidden: true,
    isEnd: true,
    cell: (target) => (
      <IconButton
        look="delete"
        label={`Delete ${target.url}`}
        icon={<Trash2 aria-hidden />}
        onClick={() => void ask(target)}
      />
    ),
  };
  return (
    <Section title="Targets" actions={mayChange && <AddTarget streamId={id} />}>
      <div className="stack">
        <p className="soft">
          Other services that get a copy of each broadcast, as the encoder sends it.
          {!isIdle && ' They can be changed when nothing is on air.'}
        </p>
        {targets.length > 0 && (
          <Table
            label="Targets"
            columns={mayChange ? [...columns, removeColumn] : columns}
            rows={targets}
            keyOf={(target) => target.id}
          />
        )}
      </div>
    </Section>
  );
};
export default Simulcast;

const AddTarget = ({ streamId }: { readonly streamId: string }): ReactNode => (
  <FormDialog
    title="Add target"
    verb="Add"
    send={(values) => {
      const textOf = (name: string): string => String(values.get(name)).trim();
      const [key, passthrough] = [textOf('stream_key'), textOf('passthrough')];
      return addSimulcastTarget(streamId, {
        url: textOf('url'),
        ...(key !== '' && { stream_key: key }),
        ...(passthrough !== '' && { passthrough }),
      });
    }}
    refresh={liveStreamKeys(streamId)}
  >
    <TextField
      name="url"
      label="URL"
      hint="RTMP or RTMPS with the name of the application."
      required
      autoComplete="off"
      placeholder="rtmps://live.example.com/app"
    />
    <TextField
      name="stream_key"
      label="Stream key"
      hint="The one that the other service gave you."
      type="password"
      autoComplete="off"
    />
    <TextField name="passthrough" label="Passthrough" hint="Any text; it is part of events about the target." />
  </FormDialog>
);
