import { createPublicKey } from 'node:crypto';
import type { Database } from '../../db/database.js';
import {
  findPlaybackRestrictionRules,
  findPublicRestrictions,
  type PublicRestriction,
} from '../../db/tables/playback/playback-restriction.js';
import { findVerificationKeys } from '../../db/tables/playback/signing-key.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { lastOf } from '../../lib/last-of.js';
import { TtlCache } from '../../lib/ttl-cache.js';
import {
  parseAnimatedParameters,
  parseStoryboardWindow,
  parseThumbnailParameters,
} from '../../media/image/parameters.js';
import { parsePlaybackModifiers } from '../../media/playlist/playback-modifiers.js';
import { ChildSigner, type Grant } from '../signing/child-signer.js';
import { type Audience, rejection, type VerificationKey, verifyToken } from '../signing/verify-token.js';
import { isRestricted, type ViewerHeaders } from './is-restricted.js';
import { isOnAir, type Playable } from './playable-finder.js';

/** The parts of a viewer's request that the decision uses. */
export interface AccessRequest extends ViewerHeaders {
  /**
   * The parsed query; of a repeated parameter, the last one is used. `token` and `signature` are
   * read.
   */
  readonly query: Readonly<Record<string, unknown>>;
  /** The requested host, with its port. */
  readonly host?: string | undefined;
  /** `Sec-Fetch-Site`, which browsers set and scripts can't. */
  readonly fetchSite?: string | undefined;
}

/** What an admitted viewer may access. */
export interface Access {
  /** True for non-public playback IDs. */
  readonly signed: boolean;
  /**
   * True for non-public playback IDs, and for public ones with a restriction: responses must be
   * `Cache-Control: private`, because no shared cache may give them to others.
   */
  readonly isPrivate: boolean;
  /** The most lines of the renditions that are listed, because a budget is spent. */
  readonly maxLines?: number;
  /**
   * Parameters of the response: the query (strings) for a public ID; the claims for a signed one,
   * whose query is ignored. Claims may be numbers, booleans, strings, or empty strings that count
   * as absent. Empty when a signed URL was presented instead of a token.
   */
  readonly modifiers: Readonly<Record<string, unknown>>;
  /** The expiry of the token in Unix seconds; undefined for public IDs. */
  readonly expiresAtSeconds: number | undefined;
  /**
   * The query that opens a child URL until the token expires: `signature=…`, or nothing for public
   * IDs. `child` must contain everything that the viewer may not change: the target and the part of
   * it.
   */
  childQuery(child: string): string;
}

/** What the access to a child depends on. */
export type OwnedPlaybackId = Pick<Playable, 'playbackId' | 'environmentId' | 'policy'>;

type RestrictionRules = Awaited<ReturnType<typeof findPlaybackRestrictionRules>>[number];

/** Where keys and restrictions are read: the database, or the origin of an edge. */
export interface AccessRows {
  signingKeys(ids: readonly string[]): ReturnType<typeof findVerificationKeys>;
  playbackRestrictions(ids: readonly string[]): ReturnType<typeof findPlaybackRestrictionRules>;
  /** Those of the public playback IDs of environments. */
  publicRestrictions(environmentIds: readonly string[]): Promise<PublicRestriction[]>;
}

export const accessRowsOf = ({ queryable }: Pick<Database, 'queryable'>): AccessRows => ({
  signingKeys: (ids) => findVerificationKeys(queryable, ids),
  playbackRestrictions: (ids) => findPlaybackRestrictionRules(queryable, ids),
  publicRestrictions: (environmentIds) => findPublicRestrictions(queryable, environmentIds),
});

export interface AccessCheckDeps {
  readonly rows: AccessRows;
  readonly clock: Clock;
  /** The key of child URLs is derived from it. */
  readonly childSecret: string;
  /** Lower-case parts of names that restrictions may forbid. */
  readonly riskyUserAgents: readonly string[];
  /** Hosts of this server's own pages, which restrictions of public playback IDs let play. */
  readonly ownHosts?: readonly string[];
}

/**
 * Decides what viewers may access. Keys and restrictions stay in memory for less than a minute;
 * those that this server removes are dropped immediately.
 */
export class AccessCheck {
  readonly #clock: Clock;
  readonly #riskyUserAgents: readonly string[];
  readonly #signer: ChildSigner;
  readonly #keys: TtlCache<VerificationKey>;
  readonly #restrictions: TtlCache<RestrictionRules>;
  /** By environment. */
  readonly #publicRestrictions: TtlCache<PublicRestriction>;
  readonly #ownHosts: readonly string[];

  constructor({ rows, clock, childSecret, riskyUserAgents, ownHosts = [] }: AccessCheckDeps) {
    this.#clock = clock;
    this.#riskyUserAgents = riskyUserAgents;
    this.#ownHosts = ownHosts;
    this.#signer = new ChildSigner(childSecret);
    this.#keys = new TtlCache({
      load: async (ids) =>
        new Map(
          (await rows.signingKeys(ids)).map((row) => [
            row.id,
            { environmentId: row.environment_id, publicKey: createPublicKey(row.public_key) },
          ]),
        ),
      clock,
    });
    this.#restrictions = new TtlCache({
      load: async (ids) => new Map((await rows.playbackRestrictions(ids)).map((rules) => [rules.id, rules])),
      clock,
    });
    this.#publicRestrictions = new TtlCache({
      load: async (ids) => new Map((await rows.publicRestrictions(ids)).map((row) => [row.environmentId, row])),
      clock,
    });
  }

  /**
   * Decides whether a viewer may access what belongs to `audience`: `v` playlists, files, text; `t`
   * thumbnail; `g` animated; `s` storyboard; `d` license. Public IDs admit everyone whom the
   * restriction of their environment does not exclude, others require a token. With `child`, a
   * signature that `childQuery` made for the same text is also accepted.
   * @throws KinoraError `forbidden` with the reason; `invalid_parameters` for a bad parameter in a
   * token, which is checked before its restriction
   */
  async check(playable: Playable, request: AccessRequest, audience: Audience, child?: string): Promise<Access> {
    if (playable.policy === 'public') return this.#byPublicId(playable, request);
    const signature = child === undefined ? undefined : lastOf(request.query.signature);
    return signature
      ? this.#bySignature(playable, request, signature, child!)
      : this.#byToken(playable, request, audience);
  }

  /**
   * The same for resources that only playlists refer to. A token does not open them, because it may
   * allow less than the whole (a lower resolution, a clip). Needs neither an RSA check nor, for
   * keys and restrictions in use, a database query.
   */
  async checkChild(playable: OwnedPlaybackId, request: AccessRequest, child: string): Promise<Access> {
    if (playable.policy === 'public') return this.#byPublicId(playable, request);
    const signature = lastOf(request.query.signature);
    if (!signature) throw rejection('Token is missing');
    return this.#bySignature(playable, request, signature, child);
  }

  /** Makes a removed key invalid immediately. */
  forgetSigningKey(id: string): void {
    this.#keys.forget(id);
  }

  /** Applies a changed or removed restriction immediately. */
  forgetPlaybackRestriction(id: string): void {
    this.#restrictions.forget(id);
  }

  /** Applies another restriction of public playback IDs immediately. */
  forgetPublicRestriction(environmentId: string): void {
    this.#publicRestrictions.forget(environmentId);
  }

  /**
   * Makes keys and restrictions be read again before they are used, because changes may have been
   * missed.
   */
  expireAll(): void {
    this.#keys.expireAll();
    this.#restrictions.expireAll();
    this.#publicRestrictions.expireAll();
  }

  async #byPublicId({ environmentId }: OwnedPlaybackId, request: AccessRequest): Promise<Access> {
    const { restrictionId } = (await this.#publicRestrictions.find(environmentId)) ?? {};
    if (!restrictionId) return publicAccess(request, false);
    await this.#checkRestriction(environmentId, restrictionId, request, this.#isOwnPage(request));
    return publicAccess(request, true);
  }

  /**
   * The player page, whose own embedding is checked when it is opened, and the console. The
   * requested host may be that of `X-Forwarded-Host`, which a script of another website can send
   * through a proxy that does not replace it.
   */
  #isOwnPage({ referer, origin, host, fetchSite = 'same-origin' }: AccessRequest): boolean {
    const page = referer || origin;
    if (!page || !URL.canParse(page)) return false;
    const pageHost = new URL(page).host;
    return (pageHost === host && fetchSite === 'same-origin') || this.#ownHosts.includes(pageHost);
  }

  async #byToken(playable: Playable, request: AccessRequest, audience: Audience): Promise<Access> {
    const token = lastOf(request.query.token);
    if (!token) throw rejection('Token is missing');
    const { playbackId, environmentId } = playable;
    const expected = { playbackId, environmentId, audience };
    const verified = await verifyToken(token, expected, (id) => this.#findKey(id), this.#clock);
    const { claims, keyId, expiresAtSeconds } = verified;
    checkParameters[audience](claims, playable);
    const restriction = claims.playback_restriction_id ?? '';
    // A value that is not a string can't name a restriction, but it must not disable the check.
    const restrictionId = restriction === '' ? undefined : String(restriction);
    await this.#checkRestriction(environmentId, restrictionId, request);
    return signedAccess(this.#signer, playbackId, claims, { expiresAtSeconds, keyId, restrictionId });
  }

  async #bySignature(
    { playbackId, environmentId }: OwnedPlaybackId,
    request: AccessRequest,
    signature: string,
    child: string,
  ): Promise<Access> {
    const grant = this.#signer.verify(playbackId, child, signature);
    if (!grant) throw rejection('Token signature is invalid');
    const key = await this.#findKey(grant.keyId);
    if (key?.environmentId !== environmentId) throw rejection('Token key is unknown');
    if (grant.expiresAtSeconds <= this.#clock.now().getTime() / 1000) throw rejection('Token has expired');
    await this.#checkRestriction(environmentId, grant.restrictionId, request);
    return signedAccess(this.#signer, playbackId, {}, grant);
  }

  async #findKey(id: string): Promise<VerificationKey | undefined> {
    return isId(id) ? this.#keys.find(id) : undefined;
  }

  async #checkRestriction(
    environmentId: string,
    id: string | undefined,
    viewer: ViewerHeaders,
    isAllowedPage = false,
  ): Promise<void> {
    if (id === undefined) return;
    const rules = isId(id) ? await this.#restrictions.find(id) : undefined;
    if (!rules || rules.environment_id !== environmentId) throw rejection('Playback restriction is invalid');
    const applied = isAllowedPage ? { ...rules, referrer: ANY_PAGE } : rules;
    if (isRestricted(applied, viewer, this.#riskyUserAgents)) throw rejection('Playback is restricted');
  }
}

const ANY_PAGE = { allowed_domains: ['*'], allow_no_referrer: true };

/**
 * Rejects invalid parameters in a token of an audience; the unknown length of an asset that is not
 * ready rejects nothing.
 */
const checkParameters: Readonly<Record<Audience, (claims: Access['modifiers'], playable: Playable) => unknown>> = {
  v: (claims, playable) => {
    const program = isOnAir(playable) ? 'live' : playable.recordedSessions;
    const parsed = parsePlaybackModifiers(claims, durationOf(playable), program);
    if ('invalid' in parsed) throw new KinoraError('invalid_parameters', { messages: [parsed.invalid] });
  },
  t: (claims, playable) => parseThumbnailParameters(claims, isOnAir(playable)),
  g: (claims, playable) => parseAnimatedParameters(claims, durationOf(playable)),
  s: (claims, playable) => parseStoryboardWindow(claims, durationOf(playable)),
  d: () => undefined,
};

const durationOf = ({ plan }: Playable): number => plan?.durationSeconds ?? Number.POSITIVE_INFINITY;

const publicAccess = ({ query }: AccessRequest, isRestricted: boolean): Access => ({
  signed: false,
  isPrivate: isRestricted,
  modifiers: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, lastOf(value)])),
  expiresAtSeconds: undefined,
  childQuery: () => '',
});

const signedAccess = (signer: ChildSigner, playbackId: string, claims: Access['modifiers'], grant: Grant): Access => ({
  signed: true,
  isPrivate: true,
  modifiers: claims,
  expiresAtSeconds: grant.expiresAtSeconds,
  childQuery: (child) => `signature=${signer.sign(playbackId, child, grant)}`,
});
