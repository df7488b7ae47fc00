import type { ReactNode } from 'react';
import type { Asset, Track } from '../../../api/assets';
import { addTextFile, addTrack, generateSubtitles, updateTrack } from '../../../api/tracks';
import { CheckField, SelectField, TextField } from '../../../ui/field';
import { FormDialog } from '../../../ui/form-dialog';

/** Those that speech recognition knows, and the choice by ear. */
const spoken = 'auto en es it pt de fr pl ru nl ca tr sv uk no fi sk el cs hr da ro bg'.split(' ');
const languageNames = new Intl.DisplayNames(undefined, { type: 'language' });
const spokenOptions = spoken.map(
  (code) => [code, code === 'auto' ? 'Recognize the language' : (languageNames.of(code) ?? code)] as const,
);

const textOf = (values: FormData, name: string): string => String(values.get(name) ?? '').trim();

/** The name and language, and for texts whether they describe more than speech. */
const readFields = (values: FormData) => {
  const name = textOf(values, 'name');
  return { language_code: textOf(values, 'language'), ...(name !== '' && { name }) };
};

const TrackFields = ({ track }: { readonly track?: Track }): ReactNode => (
  <>
    <TextField
      name="language"
      label="Language"
      hint="A language code, such as en or pt-BR."
      defaultValue={track?.language_code}
      required
    />
    <TextField name="name" label="Name" hint="Players display it. Empty: the language." defaultValue={track?.name} />
  </>
);

const CaptionsField = ({ track }: { readonly track?: Track }): ReactNode => (
  <CheckField
    name="captions"
    label="Closed captions: it also describes noises and music"
    defaultChecked={track?.closed_captions ?? false}
  />
);

const refreshOf = ({ id }: Asset) => [['asset', id]];

export const AddTextTrack = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const send = async (values: FormData): Promise<unknown> => {
    const fields = { ...readFields(values), closed_captions: values.has('captions') };
    const file = values.get('file');
    const url = textOf(values, 'url');
    const hasFile = file instanceof File && file.size > 0;
    if (hasFile === (url !== '')) throw new Error('Choose a file or enter a URL, one of the two.');
    return hasFile ? addTextFile(asset.id, file, fields) : addTrack(asset.id, { type: 'text', url, ...fields });
  };
  return (
    <FormDialog title="Add text track" verb="Add" send={send} refresh={refreshOf(asset)}>
      <TextField name="file" label="File" type="file" accept=".vtt,.srt,text/vtt" hint="WebVTT or SubRip." />
      <TextField name="url" label="or URL" type="url" hint="The server downloads it." />
      <TrackFields />
      <CaptionsField />
    </FormDialog>
  );
};

export const AddAudioTrack = ({ asset }: { readonly asset: Asset }): ReactNode => (
  <FormDialog
    title="Add audio track"
    verb="Add"
    send={(values) => addTrack(asset.id, { type: 'audio', url: textOf(values, 'url'), ...readFields(values) })}
    refresh={refreshOf(asset)}
  >
    <TextField
      name="url"
      label="URL"
      type="url"
      required
      hint="Of an M4A, MP3 or WAV file that the server can download. Audio files can't be uploaded from here."
    />
    <TrackFields />
  </FormDialog>
);

interface TrackDialogProps {
  readonly asset: Asset;
  readonly track: Track;
  readonly name: string;
}

export const EditTrack = ({ asset, track, name }: TrackDialogProps): ReactNode => (
  <FormDialog
    title={`Rename ${name}`}
    button={{ look: 'quiet', children: 'Rename' }}
    verb="Save"
    send={(values) =>
      updateTrack(asset.id, track.id, {
        language_code: textOf(values, 'language'),
        name: textOf(values, 'name'),
        ...(track.type === 'text' && { closed_captions: values.has('captions') }),
      })
    }
    refresh={refreshOf(asset)}
  >
    <TrackFields track={track} />
    {track.type === 'text' && <CaptionsField track={track} />}
  </FormDialog>
);

export const GenerateSubtitles = ({ asset, track, name }: TrackDialogProps): ReactNode => (
  <FormDialog
    title={`Generate subtitles from ${name}`}
    button={{ children: 'Generate subtitles' }}
    verb="Generate"
    send={(values) => generateSubtitles(asset.id, track.id, readFields(values) as { language_code: string })}
    refresh={refreshOf(asset)}
  >
    <p className="field-hint">The server needs speech recognition; without it, the new track fails.</p>
    <SelectField name="language" label="Spoken language" options={spokenOptions} defaultValue="auto" />
    <TextField name="name" label="Name" hint="Players display it. Empty: the language." />
  </FormDialog>
);
