import type { Database, Transaction } from '../../db/database.js';
import { findAccessToken, insertAccessToken } from '../../db/tables/server/access-token.js';
import { insertEnvironment, listEnvironments } from '../../db/tables/server/environment.js';
import { insertInstallation } from '../../db/tables/server/installation.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { newSecret, newShortId, newUuid } from '../../lib/ids.js';
import type { VideoQuality } from '../requests/asset-request.js';
import { readLocalToken, writeLocalToken } from './local-token.js';
import { permissions } from './permissions.js';
import { hashSecret, isSecretOf } from './secret-hash.js';
import { isTokenId } from './tokens.js';

export interface BootstrapOptions {
  /** `id:secret` of a token that should exist with every permission. */
  readonly token?: string;
  /** The default of the first environment if this start creates it; `basic` when absent. */
  readonly videoQuality?: VideoQuality;
  /** The directory in which a new token is stored as a file. */
  readonly dataDir: string;
}

export interface Bootstrapped {
  /** True exactly once in the life of a database. */
  readonly firstStart: boolean;
  /**
   * `id:secret` of the token made on the first start, which is also in its file; absent when the
   * caller provided one.
   */
  readonly newToken?: string;
}

/**
 * Creates what every server needs: the installation, its default environment, a first token.
 * Servers that start at the same time on one database agree on which was first.
 * @throws KinoraError `config_invalid` for a token that can't be used
 */
export const bootstrap = (database: Database, options: BootstrapOptions, clock: Clock): Promise<Bootstrapped> => {
  const configuredToken = options.token === undefined ? undefined : splitToken(options.token);
  return database.transaction(async (tx) => {
    const firstStart = await insertInstallation(tx, { id: newUuid(), organization_name: 'Kinora' });
    if (firstStart) {
      await insertEnvironment(tx, {
        id: newShortId(),
        name: 'Default',
        type: 'production',
        default_video_quality: options.videoQuality,
        created_at: clock.now(),
      });
    }
    if (configuredToken) {
      await ensureToken(tx, configuredToken, clock);
      return { firstStart };
    }
    if (!firstStart) return { firstStart };
    const newToken = await keepToken(options.dataDir);
    await insertToken(tx, { ...splitToken(newToken), name: 'First token' }, clock);
    return { firstStart, newToken };
  });
};

/**
 * The token in the file, which a start that was killed before its commit may have left, or a new
 * one. The file is written before the commit, so that every token in the database has its file.
 */
const keepToken = async (dataDir: string): Promise<string> => {
  const left = await readLocalToken(dataDir);
  if (left !== undefined && isToken(left)) return left;
  const token = `${newUuid()}:${newSecret()}`;
  await writeLocalToken(dataDir, token);
  return token;
};

interface Token {
  readonly id: string;
  readonly secret: string;
  readonly name: string;
}

const isToken = (text: string): boolean => {
  const colon = text.indexOf(':');
  return colon > 0 && isTokenId(text.slice(0, colon)) && colon < text.length - 1;
};

const splitToken = (text: string): Token => {
  const colon = text.indexOf(':');
  const id = text.slice(0, colon).toLowerCase();
  if (isToken(text)) return { id, secret: text.slice(colon + 1), name: 'Configured token' };
  throw new KinoraError('config_invalid', {
    messages: ['KINORA_TOKEN must be id:secret, where the id is a UUID or a short name and the secret is not empty.'],
  });
};

const ensureToken = async (tx: Transaction, token: Token, clock: Clock): Promise<void> => {
  if (await insertToken(tx, token, clock)) return;
  const existing = await findAccessToken(tx, token.id);
  if (existing && isSecretOf(existing.secret_hash, token.secret)) return;
  // Reported at startup, because otherwise every request would get 401 without a reason.
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
    expires_at: null,
  });
};
