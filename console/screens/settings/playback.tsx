import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { publicRestrictionQuery, setPublicRestriction } from '../../api/budgets';
import { usePermission } from '../../api/session';
import { type PlaybackRestriction, playbackRestrictions, type SigningKey, signingKeys } from '../../api/settings';
import { formatDate } from '../../lib/format';
import { CheckField, SelectField, TextArea } from '../../ui/field';
import { FormDialog } from '../../ui/form-dialog';
import { Loaded, Page, Section } from '../../ui/page';
import { NewSecret } from '../../ui/secret';
import type { Column } from '../../ui/table';
import { useAction } from '../../ui/use-action';
import { DrmSection } from './drm';
import { idColumn, ListSection } from './list-section';

const created: Column<SigningKey | PlaybackRestriction> = {
  key: 'created',
  title: 'Created',
  isEnd: true,
  isWide: true,
  cell: ({ created_at: createdAt }) => formatDate(createdAt),
};

const restrictionColumns: readonly Column<PlaybackRestriction>[] = [
  idColumn,
  {
    key: 'domains',
    title: 'Allowed domains',
    cell: ({ referrer }) => referrer.allowed_domains.join(', ') || 'none',
  },
  created,
];

/** Who may watch: keys for signed links, restrictions, and DRM. */
const PlaybackSettings = (): ReactNode => {
  const mayWriteKeys = usePermission('system:write');
  const mayWrite = usePermission('video:write');
  return (
    <Page title="Playback access">
      <ListSection
        title="Signing keys"
        query={signingKeys.query}
        columns={[idColumn, created]}
        empty="A signing key signs the links to videos with the policy “signed”."
        action={mayWriteKeys && <AddSigningKey />}
        {...(mayWriteKeys && {
          remove: {
            what: 'signing key',
            consequence: 'Links that were signed with it stop working at once.',
            run: signingKeys.remove,
          },
        })}
      />
      <ListSection
        title="Playback restrictions"
        query={playbackRestrictions.query}
        columns={restrictionColumns}
        empty="A restriction limits playback to websites and programs that you name: for signed links that name it, or for all public playback IDs."
        action={mayWrite && <AddRestriction />}
        {...(mayWrite && {
          remove: {
            what: 'playback restriction',
            consequence: 'Links that name it stop working.',
            run: playbackRestrictions.remove,
          },
        })}
      />
      <PublicPlayback />
      <DrmSection />
    </Page>
  );
};
export default PlaybackSettings;

/** Everyone may play public playback IDs, unless a restriction applies to them. */
const PublicPlayback = (): ReactNode => {
  const mayWrite = usePermission('video:write');
  const { data: restrictions = [] } = useQuery(playbackRestrictions.query);
  const change = useAction((id: string) => setPublicRestriction(id || null), {
    refresh: [publicRestrictionQuery.queryKey],
    done: 'Applies to all public playback IDs within a minute.',
  });
  const options = [
    ['', 'Everyone, on any website'] as const,
    ...restrictions.map(
      ({ id, referrer }) => [id, `${referrer.allowed_domains.join(', ') || 'none'} (${id})`] as const,
    ),
  ];
  return (
    <Section title="Public playback IDs">
      <Loaded query={publicRestrictionQuery}>
        {(current) => (
          <SelectField
            label="Who may play them"
            hint="The rules of a playback restriction. Pages of this server may always play. Caches in front of the server keep what they have."
            options={options}
            value={current ?? ''}
            disabled={!mayWrite || change.isPending}
            onChange={({ target }) => change.mutate(target.value)}
          />
        )}
      </Loaded>
    </Section>
  );
};

const AddSigningKey = (): ReactNode => (
  <FormDialog
    title="Create signing key"
    verb="Create"
    send={() => signingKeys.create(undefined)}
    refresh={[signingKeys.query.queryKey]}
    after={({ private_key: key }, close) => (
      <NewSecret secret={key} what="private key" onClose={close}>
        It is the base64 of a PEM file, as the official SDKs expect it.
      </NewSecret>
    )}
  >
    <p>The private key is displayed once. Store it where your program keeps its secrets.</p>
  </FormDialog>
);

const readRestriction = (values: FormData) => ({
  referrer: {
    allowed_domains: String(values.get('domains'))
      .split(/[\s,]+/)
      .filter(Boolean),
    allow_no_referrer: values.has('no_referrer'),
  },
  user_agent: {
    allow_no_user_agent: values.has('no_user_agent'),
    allow_high_risk_user_agent: values.has('high_risk'),
  },
});

const AddRestriction = (): ReactNode => (
  <FormDialog
    title="Add restriction"
    verb="Add"
    send={(values) => playbackRestrictions.create(readRestriction(values))}
    refresh={[playbackRestrictions.query.queryKey]}
  >
    <TextArea
      name="domains"
      label="Allowed domains"
      rows={4}
      hint="One per line, such as example.com or *.example.com. * allows all."
    />
    <CheckField name="no_referrer" label="Allow players that name no website" />
    <CheckField name="no_user_agent" label="Allow players that don't say what they are" defaultChecked />
    <CheckField name="high_risk" label="Allow programs that are often used to copy videos" defaultChecked />
  </FormDialog>
);
