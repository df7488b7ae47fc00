import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { createLiveStream, type NewLiveStream as NewBody } from '../../api/live-streams';
import { defaultWindow, latencyModes } from '../../lib/latency-mode';
import { CheckField, SelectField, TextField } from '../../ui/field';
import { FormDialog } from '../../ui/form-dialog';
import { LiveFields, readLiveFields } from './live-fields';

const policies = [
  ['public', 'Everyone with the link'],
  ['signed', 'Only with a signed link'],
] as const;

const recordingPolicies = [['', 'As the live stream'], ...policies, ['none', 'Nobody: no playback ID']] as const;

type Policy = (typeof policies)[number][0];

const readBody = (values: FormData): NewBody => {
  const policy = String(values.get('policy')) as Policy;
  const ofRecording = String(values.get('recording_policy')) || policy;
  const { new_asset_settings: settings, ...fields } = readLiveFields(values);
  const meta = settings?.meta ?? fields.meta;
  return {
    ...fields,
    playback_policies: [policy],
    new_asset_settings: {
      ...settings,
      ...(meta && { meta }),
      ...(ofRecording !== 'none' && { playback_policies: [ofRecording as Policy] }),
    },
    ...(values.has('audio_only') && { audio_only: true }),
    ...(values.has('test') && { test: true }),
  };
};

/** A button that opens the form of a new live stream, which is displayed when it exists. */
export const NewLiveStream = (): ReactNode => {
  const [, navigate] = useLocation();
  const [mode, setMode] = useState('low');
  return (
    <FormDialog
      title="Create live stream"
      button={{ look: 'primary' }}
      verb="Create"
      send={(values) =>
        createLiveStream(readBody(values)).then((stream) => {
          navigate(`/live/${stream.id}`);
          return stream;
        })
      }
      refresh={[['live_stream', 'list']]}
    >
      <TextField name="title" label="Title" maxLength={512} autoComplete="off" />
      <SelectField
        name="latency_mode"
        label="Latency"
        hint="How far viewers are behind the encoder. Lower latency means more requests."
        options={latencyModes}
        value={mode}
        onChange={({ target }) => setMode(target.value)}
      />
      <div className="form-row">
        <SelectField name="policy" label="Who may watch" options={policies} />
        <SelectField name="recording_policy" label="Who may watch recordings" options={recordingPolicies} />
      </div>
      <details className="more">
        <summary>More settings</summary>
        <div className="form">
          <LiveFields
            defaults={{ reconnect_window: defaultWindow(mode) }}
            recordingHint="That of the live stream, if this is empty."
          />
          <CheckField name="audio_only" label="Audio only: drop the video of the encoder" />
          <CheckField
            name="test"
            label="Test: ends after 5 minutes, has a watermark, and its recordings are deleted after a day"
          />
        </div>
      </details>
    </FormDialog>
  );
};
