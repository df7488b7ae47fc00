import type { ReactNode } from 'react';
import type { LiveStream } from '../../api/live-streams';
import { CheckField, SelectField, TextField } from '../../ui/field';

const MINUTE = 60;
const MAX_MINUTES = 720;

const qualities = [
  ['plus', 'Plus'],
  ['premium', 'Premium'],
] as const;

/** What the fields begin with, as the API writes it. */
type Settings = Pick<
  LiveStream,
  | 'reconnect_window'
  | 'max_continuous_duration'
  | 'use_slate_for_standard_latency'
  | 'reconnect_slate_url'
  | 'passthrough'
  | 'new_asset_settings'
>;

interface LiveFieldsProps {
  readonly defaults: Partial<Settings>;
  readonly isReadOnly?: boolean;
  /** What follows from an empty title of recordings. */
  readonly recordingHint?: string;
}

/**
 * The settings of a live stream that creation and changes have in common, beyond title and latency.
 * The server checks them: a browser would say nothing about a field that is folded away.
 */
export const LiveFields = ({ defaults, isReadOnly = false, recordingHint }: LiveFieldsProps): ReactNode => {
  const { new_asset_settings: recording = {}, max_continuous_duration: maxSeconds = MAX_MINUTES * MINUTE } = defaults;
  const text = { autoComplete: 'off', readOnly: isReadOnly } as const;
  return (
    <>
      <div className="form-row">
        <TextField
          key={defaults.reconnect_window}
          name="reconnect_window"
          label="Reconnect window (seconds)"
          hint="For an encoder that was lost."
          inputMode="decimal"
          defaultValue={defaults.reconnect_window}
          {...text}
        />
        <TextField
          name="max_minutes"
          label="Longest broadcast (minutes)"
          hint={`At most ${MAX_MINUTES}.`}
          inputMode="decimal"
          defaultValue={maxSeconds / MINUTE}
          {...text}
        />
      </div>
      <TextField
        name="recording_title"
        label="Title of recordings"
        hint={recordingHint}
        maxLength={512}
        defaultValue={recording.meta?.title}
        {...text}
      />
      <SelectField
        name="video_quality"
        label="Quality of recordings"
        options={qualities}
        disabled={isReadOnly}
        defaultValue={recording.video_quality ?? 'plus'}
      />
      <CheckField
        name="master_access"
        label="Make a master file of each recording, which can be downloaded for a day"
        disabled={isReadOnly}
        defaultChecked={recording.master_access === 'temporary'}
      />
      <TextField
        name="reconnect_slate_url"
        label="URL of the slate"
        hint="The image that viewers see while the encoder is lost."
        inputMode="url"
        placeholder="https://example.com/slate.png"
        defaultValue={defaults.reconnect_slate_url}
        {...text}
      />
      <CheckField
        name="use_slate"
        label="Show a slate with standard latency too"
        disabled={isReadOnly}
        defaultChecked={defaults.use_slate_for_standard_latency}
      />
      <TextField
        name="passthrough"
        label="Passthrough"
        hint="Any text; it is part of every webhook about this live stream."
        maxLength={255}
        defaultValue={defaults.passthrough}
        {...text}
      />
    </>
  );
};

type Filled = Partial<Settings> & Pick<LiveStream, 'latency_mode' | 'meta'>;

/**
 * What the form says, as the API takes it. A text that was emptied removes what is stored.
 * @param stored the live stream that is changed; absent for a new one
 */
export const readLiveFields = (values: FormData, stored?: LiveStream): Filled => {
  const textOf = (name: string): string => String(values.get(name) ?? '').trim();
  const said = <T,>(name: string, field: (text: string) => T): T | undefined => {
    const text = textOf(name);
    return text !== '' || stored ? field(text) : undefined;
  };
  const numberOf = (name: string, factor: number): number | undefined => {
    const text = textOf(name);
    return text === '' ? undefined : Number(text) * factor;
  };
  const { title: _, ...otherMeta } = stored?.new_asset_settings.meta ?? {};
  const filled = {
    latency_mode: textOf('latency_mode') as LiveStream['latency_mode'],
    reconnect_window: numberOf('reconnect_window', 1),
    max_continuous_duration: numberOf('max_minutes', MINUTE),
    use_slate_for_standard_latency: values.has('use_slate'),
    meta: said('title', (title) => ({ title })),
    reconnect_slate_url: said('reconnect_slate_url', (url) => url),
    passthrough: said('passthrough', (text) => text),
    new_asset_settings: withoutUndefined({
      video_quality: textOf('video_quality') as 'plus' | 'premium',
      master_access: values.has('master_access') ? ('temporary' as const) : ('none' as const),
      meta: said('recording_title', (title) => ({ ...otherMeta, ...(title !== '' && { title }) })),
    }),
  };
  return withoutUndefined(filled);
};

const withoutUndefined = <T extends object>(fields: T): { [Name in keyof T]: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]: Exclude<T[Name], undefined>;
  };
