import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Environment, environmentsQuery } from '../../api/environments';
import { useSession } from '../../api/session';
import {
  type AccessToken,
  accessTokensQuery,
  createAccessToken,
  createEnvironment,
  revokeAccessToken,
  updateEnvironment,
} from '../../api/settings';
import { formatAgo, formatDate } from '../../lib/format';
import { type VideoQuality, videoQualities } from '../../lib/video-quality';
import { CheckField, SelectField, TextField } from '../../ui/field';
import { FormDialog } from '../../ui/form-dialog';
import { Page } from '../../ui/page';
import { NewSecret } from '../../ui/secret';
import { Status } from '../../ui/status';
import type { Column } from '../../ui/table';
import { idColumn, ListSection } from './list-section';

/** What each permission allows. */
const PERMISSIONS = [
  ['video:read', 'Read assets, uploads and usage'],
  ['video:write', 'Create, change and delete assets and uploads'],
  ['system:read', 'Read events, webhooks and signing keys'],
  ['system:write', 'Create and delete webhooks and signing keys'],
  ['data:read', 'Read viewing data'],
  ['robots:read', 'Read the results of workflows'],
  ['robots:write', 'Start workflows'],
] as const;
/** What a program needs to upload and publish videos. */
const USUAL: readonly string[] = ['video:read', 'video:write'];

const DAY_MS = 86_400_000;
/** Days; 0 for never. */
const EXPIRIES = [
  ['0', 'never'],
  ['1', 'after a day'],
  ['30', 'after 30 days'],
  ['365', 'after a year'],
] as const;

const statusOf = ({ revoked_at: revokedAt, expires_at: expiresAt }: AccessToken): string => {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'active';
};

const environmentColumns: readonly Column<Environment>[] = [
  { key: 'name', title: 'Name', cell: ({ name }) => name },
  { ...idColumn, isWide: true },
  {
    key: 'quality',
    title: 'Default quality',
    cell: ({ default_video_quality: quality }) => videoQualities.find(([value]) => value === quality)?.[1],
  },
  {
    key: 'actions',
    title: 'Actions',
    isTitleHidden: true,
    isEnd: true,
    cell: (environment) => <ChangeQuality environment={environment} />,
  },
];

/** For administrators: environments, and the tokens of programs. */
const Access = (): ReactNode => {
  const { data: environments = [] } = useQuery(environmentsQuery);
  const nameOf = (id: string): string => environments.find((each) => each.id === id)?.name ?? id;
  const columns: readonly Column<AccessToken>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name },
    { ...idColumn, isWide: true },
    { key: 'environment', title: 'Environment', cell: ({ environment_id: id }) => nameOf(id) },
    {
      key: 'permissions',
      title: 'Permissions',
      isWide: true,
      cell: ({ permissions }) => (permissions.length === PERMISSIONS.length ? 'all' : permissions.join(', ')),
    },
    {
      key: 'status',
      title: 'Status',
      cell: (token) => <Status status={statusOf(token)} />,
    },
    {
      key: 'created',
      title: 'Created',
      isEnd: true,
      isWide: true,
      cell: ({ created_at: createdAt }) => <time title={formatDate(createdAt)}>{formatAgo(createdAt)}</time>,
    },
  ];
  return (
    <Page title="Tokens and environments" windowTitle="Tokens">
      <ListSection
        title="Access tokens"
        query={accessTokensQuery}
        columns={columns}
        empty="A token lets a program use the API."
        action={<AddToken environments={environments} />}
        remove={{
          what: 'token',
          verb: 'Revoke',
          consequence: 'Programs that use it get 401 from now on.',
          run: revokeAccessToken,
          isDone: (token) => statusOf(token) !== 'active',
        }}
      />
      <ListSection
        title="Environments"
        query={environmentsQuery}
        columns={environmentColumns}
        empty="An environment keeps the assets of one purpose apart from others."
        action={<AddEnvironment />}
      />
    </Page>
  );
};
export default Access;

const AddToken = ({ environments }: { readonly environments: readonly Environment[] }): ReactNode => {
  const { environment } = useSession();
  return (
    <FormDialog
      title="Create token"
      verb="Create"
      send={(values) => {
        const days = Number(values.get('days'));
        return createAccessToken({
          name: String(values.get('name')),
          environment_id: String(values.get('environment')),
          permissions: values.getAll('permission').map(String),
          ...(days > 0 && { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }),
        });
      }}
      refresh={[accessTokensQuery.queryKey]}
      after={({ id, secret }, close) => (
        <NewSecret secret={`${id}:${secret}`} what="access token" onClose={close}>
          It is the ID and the secret of basic authentication, with a colon between them.
        </NewSecret>
      )}
    >
      <TextField name="name" label="Name" required maxLength={100} hint="What it is for, such as “website”." />
      <SelectField
        name="environment"
        label="Environment"
        defaultValue={environment.id}
        options={environments.map(({ id, name }) => [id, name])}
      />
      <SelectField name="days" label="Expires" options={EXPIRIES} />
      <fieldset className="checks">
        <legend>Permissions</legend>
        {PERMISSIONS.map(([permission, text]) => (
          <CheckField
            key={permission}
            name="permission"
            value={permission}
            label={
              <>
                {permission} <span className="soft">{text}</span>
              </>
            }
            defaultChecked={USUAL.includes(permission)}
          />
        ))}
      </fieldset>
    </FormDialog>
  );
};

const AddEnvironment = (): ReactNode => (
  <FormDialog
    title="Add environment"
    verb="Add"
    send={(values) => createEnvironment({ name: String(values.get('name')), ...readQuality(values) })}
    refresh={[environmentsQuery.queryKey]}
  >
    <TextField name="name" label="Name" required />
    <QualityField />
  </FormDialog>
);

const ChangeQuality = ({ environment }: { readonly environment: Environment }): ReactNode => (
  <FormDialog
    title={`Change default quality of ${environment.name}`}
    button={{ look: 'quiet', children: 'Change' }}
    verb="Save"
    send={(values) => updateEnvironment(environment.id, readQuality(values))}
    refresh={[environmentsQuery.queryKey]}
  >
    <QualityField value={environment.default_video_quality} />
  </FormDialog>
);

const QualityField = ({ value }: { readonly value?: VideoQuality }): ReactNode => (
  <SelectField
    name="quality"
    label="Default quality"
    hint="For new assets that set no video quality."
    options={videoQualities}
    defaultValue={value}
  />
);

const readQuality = (values: FormData) => ({ default_video_quality: values.get('quality') as VideoQuality });
