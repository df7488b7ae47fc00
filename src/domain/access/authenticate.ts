import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.js';
import { findCaller } from '../../db/tables/server/access-token.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import type { VideoQuality } from '../requests/asset-request.js';
import { hashSecret, isSecretOf } from './secret-hash.js';
import { isTokenId } from './tokens.js';

export interface CallerRecord {
  readonly tokenName: string;
  readonly permissions: readonly string[];
  readonly environment: { readonly id: string; readonly name: string; readonly type: string };
  readonly organization: { readonly id: string; readonly name: string };
}

/** Who makes a request, and in which environment. */
export interface Caller extends CallerRecord {
  /** Null in a session of the console that was opened with a link. */
  readonly tokenId: string | null;
  readonly environment: CallerRecord['environment'] & { readonly defaultVideoQuality: VideoQuality };
}

export interface Credentials {
  readonly id: string;
  readonly secret: string;
}

/** Checks an `Authorization` header or a token. @throws KinoraError `unauthorized` */
export type Authenticate = (
  credentials: string | Credentials | undefined,
) => Promise<Caller & { readonly tokenId: string }>;

/** A revoked token works for at most this long; the documented limit is five seconds. */
const CACHE_MS = 3000;
/**
 * There are few tokens; this limit only prevents unbounded growth after a mistake of other code.
 */
const MAX_CACHED = 1000;

interface Known {
  readonly caller: Caller & { readonly tokenId: string };
  readonly secretHash: string;
}

/** HTTP Basic with a token's ID and secret. Valid tokens are kept in memory for a few seconds. */
export const createAuthenticate = (database: Database, clock: Clock): Authenticate => {
  const cache = new LRUCache<string, Known>({
    max: MAX_CACHED,
    ttl: CACHE_MS,
    ttlResolution: 0,
    perf: { now: () => clock.monotonicMs() },
  });
  const nobody = hashSecret('');

  const find = async (tokenId: string): Promise<Known | undefined> => {
    const start = clock.monotonicMs();
    const row = await findCaller(database.queryable, tokenId, clock.now());
    cache.delete(tokenId);
    if (!row) return undefined;
    const knownToken: Known = {
      secretHash: row.secret_hash,
      caller: {
        tokenId,
        tokenName: row.token_name,
        permissions: row.permissions,
        environment: {
          id: row.environment_id,
          name: row.environment_name,
          type: row.environment_type,
          defaultVideoQuality: row.default_video_quality,
        },
        organization: { id: row.organization_id, name: row.organization_name },
      },
    };
    cache.set(tokenId, knownToken, { start });
    return knownToken;
  };

  // All refusals take the same steps, so that their timing does not tell whether a token ID exists.
  // Only a correct secret skips the database.
  return async (sent) => {
    const credentials = typeof sent === 'object' ? sent : readBasic(sent);
    if (!credentials) throw new KinoraError('unauthorized');
    const tokenId = credentials.id.toLowerCase();
    const isRight = (knownToken: Known | undefined): knownToken is Known =>
      isSecretOf(knownToken?.secretHash ?? nobody, credentials.secret) && knownToken !== undefined;
    const cached = cache.get(tokenId);
    if (isRight(cached)) return cached.caller;
    const knownToken = isTokenId(tokenId) ? await find(tokenId) : undefined;
    if (isRight(knownToken)) return knownToken.caller;
    throw new KinoraError('unauthorized');
  };
};

const readBasic = (authorization: string | undefined): Credentials | undefined => {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) };
};
