import { type FormEvent, type ReactNode, useState } from 'react';
import { sentenceOf } from '../../api/client';
import { type LiveStream, type LiveStreamDetails, liveStreamKeys, updateLiveStream } from '../../api/live-streams';
import { usePermission } from '../../api/session';
import { latencyModes } from '../../lib/latency-mode';
import { Button } from '../../ui/button';
import { SelectField, TextField } from '../../ui/field';
import { useAction } from '../../ui/use-action';
import { LiveFields, readLiveFields } from '../live-streams/live-fields';

type Filled = ReturnType<typeof readLiveFields>;

/** What is stored, in the form of what the form says. */
const storedAs = (name: string, stream: LiveStream): unknown => {
  const { meta, new_asset_settings: recording } = stream;
  if (name === 'meta') return { title: meta?.title ?? '' };
  if (name === 'new_asset_settings') {
    const { video_quality = 'plus', master_access = 'none', meta: { title = '', ...others } = {} } = recording;
    return { video_quality, master_access, meta: { ...others, ...(title !== '' && { title }) } };
  }
  return stream[name as keyof LiveStream] ?? '';
};

/** Only what differs, so that what follows from the latency mode goes on following it. */
const changesOf = (filled: Filled, stream: LiveStream): Partial<Filled> =>
  Object.fromEntries(
    Object.entries(filled).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(storedAs(name, stream))),
  );

/** What can be changed. */
const Settings = ({ stream }: { readonly stream: LiveStreamDetails }): ReactNode => {
  const mayWrite = usePermission('video:write');
  // A new form shows what is stored now.
  const [round, setRound] = useState(0);
  const save = useAction((change: Partial<Filled>) => updateLiveStream(stream.id, change), {
    done: 'Saved.',
    isSilent: true,
    refresh: liveStreamKeys(stream.id),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    save.mutate(changesOf(readLiveFields(new FormData(event.currentTarget), stream), stream));
  };
  return (
    <form key={round} className="form" onSubmit={submit}>
      <p className="soft">What is on air goes on as it began: changes apply to the next broadcast.</p>
      <TextField
        name="title"
        label="Title"
        hint="Players display it."
        maxLength={512}
        autoComplete="off"
        readOnly={!mayWrite}
        defaultValue={stream.meta?.title}
      />
      <SelectField
        name="latency_mode"
        label="Latency"
        hint="How far viewers are behind the encoder."
        options={latencyModes}
        disabled={!mayWrite}
        defaultValue={stream.latency_mode}
      />
      <LiveFields defaults={stream} isReadOnly={!mayWrite} />
      <div role="alert">{save.error && <p className="notice notice-error">{sentenceOf(save.error)}</p>}</div>
      {mayWrite && (
        <div className="form-actions">
          <Button type="submit" look="primary" isBusy={save.isPending}>
            Save
          </Button>
          <Button onClick={() => setRound(round + 1)}>Discard changes</Button>
        </div>
      )}
    </form>
  );
};
export default Settings;
