import { createHmac, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database, Queryable } from '../../db/database.js';
import {
  deleteConsoleSession,
  deleteEndedSessions,
  findConsoleLink,
  findConsoleSession,
  insertConsoleLink,
  insertConsoleSession,
  listLiveSessions,
  type SessionTimes,
  takeConsoleLink,
  updateConsoleSession,
} from '../../db/tables/server/console-session.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { newSecret } from '../../lib/ids.js';
import type { Caller } from './authenticate.js';
import { permissions } from './permissions.js';
import { hashSecret } from './secret-hash.js';
import { getEnvironmentId } from './tokens.js';

const LINK_MS = 3600_000;
/** Expired links are kept this long, so that a late visitor is told why the link does not work. */
const KEEP_LINKS_MS = 24 * 3600_000;
const IDLE_MS = 12 * 3600_000;
/** However much a session is used, it ends after this time. */
export const MAX_SESSION_MS = 7 * 24 * 3600_000;
/** The use of a session is stored at most this often. */
const USE_STEP_MS = 60_000;
/** As for tokens: a change by another process takes effect after at most this time. */
const CACHE_MS = 3000;
const MAX_CACHED = 1000;

/** A browser that is signed in. */
export interface Session {
  /** Identifies the session within the server; the secret can't be derived from it. */
  readonly key: string;
  readonly caller: Caller;
  /** Every request that changes something must carry it. */
  readonly csrfToken: string;
  /** When the session ends if it is not used again. */
  readonly expiresAt: Date;
  /** Opened with a link: it may switch environments and manage the whole server. */
  readonly canAdminister: boolean;
}

/** The cookie that browsers keep the secret in. */
export interface SessionCookie {
  readonly name: string;
  /**
   * The URL of this server, which tells whether browsers reach it over HTTPS. Only called once the
   * server listens.
   */
  readonly apiUrl: () => string;
}

const rejection = (message: string): KinoraError => new KinoraError('unauthorized', { messages: [message] });

/** Makes a link that signs in once, within an hour. Returns the code of its URL. */
export const createConsoleLink = async (database: Database, clock: Clock): Promise<string> => {
  const code = newSecret();
  const now = clock.now();
  await insertConsoleLink(database.queryable, {
    code_hash: hashSecret(code),
    created_at: now,
    expires_at: new Date(now.getTime() + LINK_MS),
  });
  return code;
};

/**
 * The page of the console that signs in; browsers do not send the part after `#`, so it is in no
 * log of a proxy.
 */
export const consoleLinkUrl = (apiUrl: string, code: string): string => `${apiUrl}/console/login#${code}`;

/** Bound to the cookie, so it needs no storage, and only pages of this server can read it. */
const csrfTokenOf = (secret: string): string => createHmac('sha256', secret).update('csrf').digest('base64url');

export const isCsrfToken = ({ csrfToken }: Session, sent: string | undefined): boolean => {
  const bytes = Buffer.from(sent ?? '');
  const expected = Buffer.from(csrfToken);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
};

/**
 * Browsers send the cookies of a host to all of its ports, so each installation has a name of its
 * own: two on one host would sign each other's users out. Servers that share a database share it.
 */
export const sessionCookieName = (installationSecret: string): string =>
  `kinora_session_${createHmac('sha256', installationSecret).update('session cookie').digest('hex').slice(0, 12)}`;

/** Sessions of the console, in the database; read ones are cached for a few seconds. */
export class Sessions {
  /** Of the cookie that holds the secret of a session. */
  readonly cookie: SessionCookie;
  readonly #db: Queryable;
  readonly #clock: Clock;
  readonly #cache: LRUCache<string, Session>;
  /** Of sessions, by this process. */
  #changes = 0;

  constructor(database: Pick<Database, 'queryable'>, clock: Clock, cookie: SessionCookie) {
    this.cookie = cookie;
    this.#db = database.queryable;
    this.#clock = clock;
    this.#cache = new LRUCache({
      max: MAX_CACHED,
      ttl: CACHE_MS,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  /**
   * Takes the link and opens a session in the default environment. Returns the secret for the
   * cookie.
   * @throws KinoraError `unauthorized` with the reason
   */
  async openWithLink(code: string): Promise<string> {
    const codeHash = hashSecret(code);
    if (await takeConsoleLink(this.#db, codeHash, this.#clock.now()))
      return this.#open(null, await getEnvironmentId(this.#db, undefined));
    const link = await findConsoleLink(this.#db, codeHash);
    const state = !link ? 'is not valid' : link.used_at ? 'was already used' : 'has expired';
    throw rejection(`The link ${state}. Print a new one with kinora console.`);
  }

  /** Opens a session that has the environment and the permissions of a token and ends with it. */
  openWithToken({ tokenId, environment }: Caller & { readonly tokenId: string }): Promise<string> {
    return this.#open(tokenId, environment.id);
  }

  /** @throws KinoraError `unauthorized` */
  async get(secret: string): Promise<Session> {
    const key = hashSecret(secret);
    const session = this.#cache.get(key) ?? (await this.#find(key, secret));
    if (!session) throw rejection('The session has ended. Sign in again.');
    return session;
  }

  /**
   * @throws KinoraError `forbidden` for a session of a token, `invalid_parameters` for an unknown
   * environment
   */
  async switchEnvironment({ key, canAdminister }: Session, environmentId: string): Promise<void> {
    if (!canAdminister) {
      const messages = ['A session of an access token stays in the environment of the token.'];
      throw new KinoraError('forbidden', { messages });
    }
    const change = { environment_id: await getEnvironmentId(this.#db, environmentId) };
    await updateConsoleSession(this.#db, key, change);
    this.#drop(key);
  }

  async end({ key }: Session): Promise<void> {
    await deleteConsoleSession(this.#db, key);
    this.#drop(key);
  }

  /** Returns the keys of those sessions that have not ended. */
  async listLive(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(await listLiveSessions(this.#db, keys, this.#times()));
  }

  async #open(tokenId: string | null, environmentId: string): Promise<string> {
    const secret = newSecret();
    const times = this.#times();
    const { now } = times;
    await deleteEndedSessions(this.#db, times, new Date(now.getTime() - KEEP_LINKS_MS));
    await insertConsoleSession(this.#db, {
      secret_hash: hashSecret(secret),
      token_id: tokenId,
      environment_id: environmentId,
      created_at: now,
      last_used_at: now,
      ends_at: new Date(now.getTime() + MAX_SESSION_MS),
    });
    return secret;
  }

  async #find(key: string, secret: string): Promise<Session | undefined> {
    const start = this.#clock.monotonicMs();
    const before = this.#changes;
    const times = this.#times();
    const { now } = times;
    const row = await findConsoleSession(this.#db, key, times);
    this.#cache.delete(key);
    if (!row) return undefined;
    if (now.getTime() - row.last_used_at.getTime() >= USE_STEP_MS)
      await updateConsoleSession(this.#db, key, { last_used_at: now });
    const session: Session = {
      key,
      caller: {
        tokenId: row.token_id,
        tokenName: row.token_name ?? 'Console',
        permissions: row.permissions ?? permissions,
        environment: {
          id: row.environment_id,
          name: row.environment_name,
          type: row.environment_type,
          defaultVideoQuality: row.default_video_quality,
        },
        organization: { id: row.organization_id, name: row.organization_name },
      },
      csrfToken: csrfTokenOf(secret),
      expiresAt: new Date(Math.min(now.getTime() + IDLE_MS, row.ends_at.getTime())),
      canAdminister: row.token_id === null,
    };
    // What was read before a change may be out of date.
    if (this.#changes === before) this.#cache.set(key, session, { start });
    return session;
  }

  #drop(key: string): void {
    this.#changes += 1;
    this.#cache.delete(key);
  }

  #times(): SessionTimes {
    const now = this.#clock.now();
    return { now, idleSince: new Date(now.getTime() - IDLE_MS) };
  }
}
