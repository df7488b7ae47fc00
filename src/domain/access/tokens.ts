import type { Database, Queryable } from '../../db/database.js';
import { insertAccessToken, listAccessTokens, markRevoked } from '../../db/tables/server/access-token.js';
import { findEnvironment, listEnvironments } from '../../db/tables/server/environment.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { newSecret, newUuid } from '../../lib/ids.js';
import { permissions as everyPermission, type Permission } from './permissions.js';
import { hashSecret } from './secret-hash.js';

export interface TokenInfo {
  readonly id: string;
  readonly name: string;
  readonly environmentId: string;
  readonly permissions: readonly string[];
  readonly createdAt: Date;
  readonly revokedAt: Date | undefined;
  readonly expiresAt: Date | undefined;
}

export interface NewToken {
  readonly name: string;
  /** The default environment when absent. */
  readonly environmentId?: string;
  /** All of them when absent. */
  readonly permissions?: readonly string[];
  /** Never when absent. */
  readonly expiresAt?: Date;
}

/**
 * Generated IDs are UUIDs; a configured token may have a short name. IDs are compared in lower
 * case.
 */
const TOKEN_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/i;
export const isTokenId = (text: string): boolean => TOKEN_ID.test(text);

/**
 * Creates a token and returns it as `id:secret`; the secret can't be read again.
 * @throws KinoraError `invalid_parameters` for an unknown environment or permission
 */
export const createToken = async (database: Database, token: NewToken, clock: Clock): Promise<string> => {
  const environmentId = await getEnvironmentId(database.queryable, token.environmentId);
  const id = newUuid();
  const secret = newSecret();
  await insertAccessToken(database.queryable, {
    id,
    environment_id: environmentId,
    name: token.name,
    secret_hash: hashSecret(secret),
    permissions: checkPermissions(token.permissions ?? everyPermission),
    created_at: clock.now(),
    expires_at: token.expiresAt ?? null,
  });
  return `${id}:${secret}`;
};

/** Oldest first, revoked ones included. */
export const listTokens = async (database: Database): Promise<TokenInfo[]> =>
  (await listAccessTokens(database.queryable)).map((row) => ({
    id: row.id,
    name: row.name,
    environmentId: row.environment_id,
    permissions: row.permissions,
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
    expiresAt: row.expires_at ?? undefined,
  }));

/** Running servers reject it within five seconds. @throws KinoraError `not_found` */
export const revokeToken = async (database: Database, id: string, clock: Clock): Promise<void> => {
  if (!isTokenId(id) || !(await markRevoked(database.queryable, id.toLowerCase(), clock.now()))) {
    throw new KinoraError('not_found', { messages: [`There is no valid access token with the id ${id}.`] });
  }
};

/** @throws KinoraError `invalid_parameters` when no environment has this ID */
export const getEnvironmentId = async (db: Queryable, id: string | undefined): Promise<string> => {
  const environment = id === undefined ? (await listEnvironments(db))[0] : await findEnvironment(db, id);
  if (environment) return environment.id;
  const message = id === undefined ? 'There is no environment yet.' : `There is no environment with the id ${id}.`;
  throw new KinoraError('invalid_parameters', { messages: [message] });
};

const checkPermissions = (names: readonly string[]): Permission[] => {
  const unknown = names.filter((name) => !everyPermission.some((permission) => permission === name));
  if (unknown.length === 0) return names as Permission[];
  const messages = unknown.map((name) => `Unknown permission ${name}; known ones: ${everyPermission.join(', ')}`);
  throw new KinoraError('invalid_parameters', { messages });
};
