import { permissions } from '../../api/operations.js';
import type { Database, Transaction } from '../../db/database.js';
import { findAccessToken, insertAccessToken } from '../../db/tables/access-token.js';
import { insertEnvironment, listEnvironments } from '../../db/tables/environment.js';
import { insertInstallation } from '../../db/tables/installation.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { newSecret, newShortId, newUuid } from '../../lib/ids.js';
import { hashSecret, isSecretOf } from './secret-hash.js';
import { isTokenId } from './tokens.js';

export interface BootstrapOptions {
  /** `id:secret` of a token with every permission that shall exist. */
  readonly token?: string;
}

export interface Bootstrapped {
  /** True exactly once in the life of a database. */
  readonly firstStart: boolean;
  /** `id:secret` of the token made on the first start; absent when the caller brought its own. */
  readonly newToken?: string;
}

/**
 * Makes what every server needs: the installation, its default environment, a first token. Servers that start together on
 * one database agree on who was first.
 * @throws KinoraError `config_invalid` for a token that cannot be used
 */
export const bootstrap = (database: Database, options: BootstrapOptions, clock: Clock): Promise<Bootstrapped> => {
  const given = options.token === undefined ? undefined : splitToken(options.token);
  return database.transaction(async (tx) => {
    const firstStart = await insertInstallation(tx, { id: newUuid(), organization_name: 'Kinora' });
    if (firstStart) {
      await insertEnvironment(tx, { id: newShortId(), name: 'Default', type: 'production', created_at: clock.now() });
    }
    if (given) {
      await ensureToken(tx, given, clock);
      return { firstStart };
    }
    if (!firstStart) return { firstStart };
    const token = { id: newUuid(), secret: newSecret(), name: 'First token' };
    await insertToken(tx, token, clock);
    return { firstStart, newToken: `${token.id}:${token.secret}` };
  });
};

interface Token {
  readonly id: string;
  readonly secret: string;
  readonly name: string;
}

const splitToken = (text: string): Token => {
  const [id = '', ...rest] = text.split(':');
  const secret = rest.join(':');
  if (isTokenId(id) && secret !== '') return { id: id.toLowerCase(), secret, name: 'Configured token' };
  throw new KinoraError('config_invalid', {
    messages: ['KINORA_TOKEN must be id:secret, where the id is a UUID or a short name and the secret is not empty.'],
  });
};

const ensureToken = async (tx: Transaction, token: Token, clock: Clock): Promise<void> => {
  if (await insertToken(tx, token, clock)) return;
  const existing = await findAccessToken(tx, token.id);
  if (existing && isSecretOf(existing.secret_hash, token.secret)) return;
  // Said at the start, because otherwise every request would be answered 401 without a reason.
  throw new KinoraError('config_invalid', {
    messages: ['KINORA_TOKEN has the id of an existing access token but another secret.'],
  });
};

const insertToken = async (tx: Transaction, token: Token, clock: Clock): Promise<boolean> => {
  const [environment] = await listEnvironments(tx);
  return insertAccessToken(tx, {
    id: token.id,
    environment_id: environment!.id,
    name: token.name,
    secret_hash: hashSecret(token.secret),
    permissions,
    created_at: clock.now(),
  });
};
