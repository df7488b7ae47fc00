import { queryOptions } from '@tanstack/react-query';
import { get, request } from './client';
import type { Environment } from './environments';

/** What an environment is configured with: the same few operations for each kind. */
interface Collection<Item, Body, Created = Item> {
  readonly query: ReturnType<typeof listQuery<Item>>;
  create(body: Body): Promise<Created>;
  remove(id: string): Promise<undefined>;
}

const LIMIT = 100;

const listQuery = <Item>(name: string, path: string) =>
  queryOptions({
    queryKey: [name, 'list'],
    queryFn: ({ signal }) => get<{ data: readonly Item[] }>(path, { limit: LIMIT }, signal).then(({ data }) => data),
  });

const collection = <Item, Body, Created = Item>(name: string, path: string): Collection<Item, Body, Created> => ({
  query: listQuery<Item>(name, path),
  create: (body) => request<{ data: Created }>('POST', path, body).then(({ data }) => data),
  remove: (id) => request('DELETE', `${path}/${id}`),
});

export interface SigningKey {
  readonly id: string;
  /** Seconds since 1970, as text. */
  readonly created_at: string;
}

/** The response to the creation is the only one with the private key, the base64 of a PEM text. */
export const signingKeys = collection<SigningKey, undefined, SigningKey & { readonly private_key: string }>(
  'signing-key',
  '/system/v1/signing-keys',
);

export interface PlaybackRestriction {
  readonly id: string;
  readonly created_at: string;
  readonly referrer: { readonly allowed_domains: readonly string[]; readonly allow_no_referrer: boolean };
  readonly user_agent: { readonly allow_no_user_agent: boolean; readonly allow_high_risk_user_agent: boolean };
}

export const playbackRestrictions = collection<PlaybackRestriction, Omit<PlaybackRestriction, 'id' | 'created_at'>>(
  'playback-restriction',
  '/video/v1/playback-restrictions',
);

/** Without permission to administer the server, only the IDs of DRM configurations are known. */
export const drmConfigurationIdsQuery = listQuery<{ readonly id: string }>(
  'drm-configuration-id',
  '/video/v1/drm-configurations',
);

export interface DrmConfiguration {
  readonly id: string;
  readonly name: string;
  readonly key_source: 'local' | 'static' | 'cpix';
  /** ISO 8601. */
  readonly created_at: string;
  readonly clear_key: boolean;
  /** License servers and the key service, by purpose. */
  readonly urls: Readonly<Record<string, string>>;
}

/** They have the names of the flags of `kinora drm create`. */
export interface NewDrmConfiguration {
  readonly name: string;
  readonly key_source: string;
  readonly fairplay_certificate_base64?: string;
  readonly [field: string]: string | readonly string[] | undefined;
}

const DRM_PATH = '/console/api/drm-configurations';

export const drmConfigurationsQuery = listQuery<DrmConfiguration>('drm-configuration', DRM_PATH);

export const createDrmConfiguration = (body: NewDrmConfiguration): Promise<unknown> => request('POST', DRM_PATH, body);

export const deleteDrmConfiguration = (id: string): Promise<undefined> => request('DELETE', `${DRM_PATH}/${id}`);

export interface Vocabulary {
  readonly id: string;
  readonly created_at: string;
  readonly name?: string;
  readonly phrases: readonly string[];
}

export const vocabularies = collection<Vocabulary, { readonly name: string; readonly phrases: readonly string[] }>(
  'vocabulary',
  '/video/v1/transcription-vocabularies',
);

export interface Directive {
  readonly id: string;
  readonly name: string;
  readonly created_at: string | number;
  readonly workflows: readonly { readonly workflow: string }[];
}

export const directives = collection<Directive, unknown>('directive', '/robots/v0/directives');

export interface AccessToken {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly environment_id: string;
  /** ISO 8601. */
  readonly created_at: string;
  /** Null unless it was revoked. */
  readonly revoked_at: string | null;
  /** Null for a token that stays valid. */
  readonly expires_at: string | null;
}

export const accessTokensQuery = listQuery<AccessToken>('token', '/console/api/tokens');

/** The response is the only one with the secret. */
export const createAccessToken = (body: {
  readonly name: string;
  readonly permissions: readonly string[];
  readonly environment_id: string;
  /** ISO 8601. */
  readonly expires_at?: string;
}): Promise<AccessToken & { readonly secret: string }> => request('POST', '/console/api/tokens', body);

export const revokeAccessToken = (id: string): Promise<undefined> => request('DELETE', `/console/api/tokens/${id}`);

const ENVIRONMENTS_PATH = '/console/api/environments';

export const createEnvironment = (body: Omit<Environment, 'id'>): Promise<unknown> =>
  request('POST', ENVIRONMENTS_PATH, body);

export const updateEnvironment = (id: string, body: Pick<Environment, 'default_video_quality'>): Promise<unknown> =>
  request('PATCH', `${ENVIRONMENTS_PATH}/${id}`, body);
