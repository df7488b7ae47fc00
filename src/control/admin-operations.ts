import type { Database } from '../db/database.js';
import { type ListedJob, listJobs } from '../db/tables/server/list-jobs.js';
import {
  createEnvironment,
  type EnvironmentInfo,
  listEnvironments,
  updateEnvironment,
} from '../domain/access/environments.js';
import { createToken, listTokens, type NewToken, revokeToken, type TokenInfo } from '../domain/access/tokens.js';
import {
  createDrmConfiguration,
  deleteDrmConfiguration,
  getDrmConfiguration,
  listDrmConfigurations,
  type NewDrmConfiguration,
} from '../domain/drm/configurations.js';
import type { DrmConfiguration } from '../domain/drm/settings.js';
import { type PublicDrmConfiguration, showDrmConfiguration } from '../domain/drm/show-configuration.js';
import { systemClock } from '../lib/clock.js';

/** Dates become strings, because results go through a socket. */
type Sent<T> = {
  readonly [K in keyof T]: T[K] extends Date
    ? string
    : T[K] extends Date | undefined
      ? string | undefined
      : T[K] extends Date | null
        ? string | null
        : T[K];
};

/**
 * The database operations of commands such as `token` and `env`. They run in the server if one is
 * running, otherwise in the command's process. Parameters and results survive JSON.
 */
export const adminOperations = {
  'token create': (database: Database, token: NewToken): Promise<string> => createToken(database, token, systemClock),
  'token list': async (database: Database): Promise<Sent<TokenInfo>[]> =>
    (await listTokens(database)).map((token) => ({
      ...token,
      createdAt: token.createdAt.toISOString(),
      revokedAt: token.revokedAt?.toISOString(),
      expiresAt: token.expiresAt?.toISOString(),
    })),
  'token revoke': (database: Database, { id }: { readonly id: string }): Promise<void> =>
    revokeToken(database, id, systemClock),
  'env create': async (
    database: Database,
    environment: Omit<EnvironmentInfo, 'id' | 'createdAt'>,
  ): Promise<Sent<EnvironmentInfo>> => sentEnvironment(await createEnvironment(database, environment, systemClock)),
  'env update': async (
    database: Database,
    { id, ...change }: Pick<EnvironmentInfo, 'id' | 'videoQuality'>,
  ): Promise<void> => void (await updateEnvironment(database, id, change)),
  'env list': async (database: Database): Promise<Sent<EnvironmentInfo>[]> =>
    (await listEnvironments(database)).map(sentEnvironment),
  'drm create': (database: Database, configuration: NewDrmConfiguration): Promise<string> =>
    createDrmConfiguration(database, configuration, systemClock),
  'drm list': async (database: Database): Promise<Sent<DrmConfiguration>[]> =>
    (await listDrmConfigurations(database)).map(sentConfiguration),
  'drm show': async (database: Database, { id }: { readonly id: string }): Promise<PublicDrmConfiguration> =>
    showDrmConfiguration(await getDrmConfiguration(database, id)),
  'drm delete': (database: Database, { id }: { readonly id: string }): Promise<void> =>
    deleteDrmConfiguration(database, id),
  'jobs list': async (
    database: Database,
    query: { readonly assetId?: string; readonly state?: string; readonly limit: number },
  ): Promise<Sent<ListedJob>[]> => (await listJobs(database.queryable, query)).map(sentJob),
} as const;

const sentJob = (job: ListedJob): Sent<ListedJob> => ({
  ...job,
  created_at: job.created_at.toISOString(),
  run_at: job.run_at.toISOString(),
  finished_at: job.finished_at?.toISOString() ?? null,
});

const sentConfiguration = (configuration: DrmConfiguration): Sent<DrmConfiguration> => ({
  ...configuration,
  createdAt: configuration.createdAt.toISOString(),
});

const sentEnvironment = (environment: EnvironmentInfo): Sent<EnvironmentInfo> => ({
  ...environment,
  createdAt: environment.createdAt.toISOString(),
});

type Operations = typeof adminOperations;
export type AdminOperation = keyof Operations;
export type AdminParams<O extends AdminOperation> = Parameters<Operations[O]>[1];
export type AdminResult<O extends AdminOperation> = Awaited<ReturnType<Operations[O]>>;
