import { type ReactNode, useState } from 'react';
import { useSession } from '../../api/session';
import {
  createDrmConfiguration,
  type DrmConfiguration,
  deleteDrmConfiguration,
  drmConfigurationIdsQuery,
  drmConfigurationsQuery,
  type NewDrmConfiguration,
} from '../../api/settings';
import { SelectField, TextArea, TextField } from '../../ui/field';
import { FormDialog } from '../../ui/form-dialog';
import type { Column } from '../../ui/table';
import { idColumn, ListSection } from './list-section';

const keySources = [
  ['local', 'Random keys, made by this server'],
  ['static', 'Keys that you enter'],
  ['cpix', 'Keys of a key service (SPEKE 2.0)'],
] as const;

/** The first one leaves it to the server. */
const clearKeyChoices = [
  ['', 'With random keys, and without license servers'],
  ['true', 'Yes'],
  ['false', 'No'],
] as const;

const systemNames: Readonly<Record<string, string>> = {
  widevine: 'Widevine',
  playready: 'PlayReady',
  fairplay: 'FairPlay',
};

const systemsOf = ({ urls, clear_key: clearKey }: DrmConfiguration): string =>
  [...Object.keys(urls).flatMap((name) => systemNames[name] ?? []), clearKey && 'ClearKey'].filter(Boolean).join(', ');

const columns: readonly Column<DrmConfiguration>[] = [
  { key: 'name', title: 'Name', cell: ({ name }) => name },
  idColumn as Column<DrmConfiguration>,
  { key: 'keys', title: 'Keys', isWide: true, cell: ({ key_source: source }) => <code>{source}</code> },
  { key: 'licenses', title: 'Licenses', isWide: true, cell: (configuration) => systemsOf(configuration) || 'none' },
];

/**
 * DRM configurations. Those who administer the server see more than IDs, and add and delete them.
 */
export const DrmSection = (): ReactNode => {
  const { can_administer: mayAdminister } = useSession();
  if (!mayAdminister) {
    return (
      <ListSection
        title="DRM configurations"
        query={drmConfigurationIdsQuery}
        columns={[idColumn]}
        empty="Someone who administers the server can add one here, or with kinora drm create."
      />
    );
  }
  return (
    <ListSection
      title="DRM configurations"
      query={drmConfigurationsQuery}
      columns={columns}
      empty="A DRM configuration says where the keys of encrypted videos come from, and which servers issue licenses."
      action={<AddDrmConfiguration />}
      remove={{
        what: 'DRM configuration',
        consequence: 'Its keys are deleted too. This works only while no playback ID uses it.',
        run: deleteDrmConfiguration,
      }}
    />
  );
};

const base64Of = async (file: File): Promise<string> =>
  btoa(String.fromCharCode(...new Uint8Array(await file.arrayBuffer())));

/** Of what is in the form, as the server takes it; empty fields are left out. */
const readForm = async (values: FormData): Promise<NewDrmConfiguration> => {
  const body: Record<string, string | readonly string[]> = {};
  for (const [name, value] of values) {
    if (value instanceof File) {
      if (value.size > 0) body[`${name}_base64`] = await base64Of(value);
    } else if (value.trim() !== '') {
      const lines = value.trim().split(/\s*\n\s*/);
      body[name] = name.endsWith('_header') ? lines : value.trim();
    }
  }
  return { ...body, name: String(values.get('name')).trim(), key_source: String(values.get('key_source')) };
};

const AddDrmConfiguration = (): ReactNode => {
  const [source, setSource] = useState('local');
  return (
    <FormDialog
      title="Add DRM configuration"
      verb="Add"
      send={async (values) => createDrmConfiguration(await readForm(values))}
      refresh={[drmConfigurationsQuery.queryKey, drmConfigurationIdsQuery.queryKey]}
    >
      <p className="field-hint">It can't be changed later, and keys and headers are not displayed again.</p>
      <TextField name="name" label="Name" required maxLength={100} />
      <SelectField
        name="key_source"
        label="Keys"
        options={keySources}
        value={source}
        onChange={({ target }) => setSource(target.value)}
      />
      {source === 'static' && <StaticKeys />}
      {source === 'cpix' && <KeyService />}
      <Licenses />
      <SelectField
        name="clear_key"
        label="ClearKey"
        options={clearKeyChoices}
        hint="Gives players the key itself: for tests and light protection only."
      />
    </FormDialog>
  );
};

const StaticKeys = (): ReactNode => (
  <>
    <TextField
      name="key"
      label="Key"
      type="password"
      autoComplete="off"
      required
      hint="<key ID>:<key>, or <key ID>:<key>:<iv>, 32 hexadecimal digits each."
    />
    <TextField
      name="audio_key"
      label="Key of audio"
      type="password"
      autoComplete="off"
      hint="Only if it is another one."
    />
  </>
);

const KeyService = (): ReactNode => (
  <>
    <TextField name="cpix_url" label="URL of the key service" type="url" required />
    <TextArea name="cpix_header" label="Headers for the key service" rows={2} hint="One per line: Authorization: …" />
  </>
);

const Licenses = (): ReactNode => (
  <details>
    <summary>License servers</summary>
    <div className="form details-form">
      <TextField name="widevine_url" label="Widevine URL" type="url" />
      <TextField name="playready_url" label="PlayReady URL" type="url" />
      <TextField name="fairplay_url" label="FairPlay URL" type="url" />
      <TextField name="fairplay_certificate" label="FairPlay certificate" type="file" />
      <TextArea
        name="license_header"
        label="Headers for license servers"
        rows={2}
        hint="One per line: Authorization: …"
      />
      <TextField
        name="allow_private"
        label="Private networks"
        hint="Blocks such as 10.0.0.0/8, with commas, if these servers have private addresses."
      />
    </div>
  </details>
);
