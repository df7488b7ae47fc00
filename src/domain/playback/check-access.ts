import { createPublicKey } from 'node:crypto';
import type { Database } from '../../db/database.js';
import { findPlaybackRestrictionRules } from '../../db/tables/playback/playback-restriction.js';
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
import { type ChildSigner, createChildSigner, type Grant } from '../signing/child-signature.js';
import { type Audience, refusal, type VerificationKey, verifyToken } from '../signing/verify-token.js';
import type { Playable } from './find-playable.js';
import { isRestricted, type ViewerHeaders } from './is-restricted.js';

/** The parts of a viewer's request that the decision uses. */
export interface AccessRequest extends ViewerHeaders {
  /** The parsed query; of a repeated parameter, the last one is used. `token` and `signature` are read. */
  readonly query: Readonly<Record<string, unknown>>;
}

/** What an admitted viewer may access. */
export interface Access {
  /**
   * True for non-public playback IDs: responses must be `Cache-Control: private`, because no shared cache may give
   * them to others.
   */
  readonly signed: boolean;
  /**
   * Parameters of the response: the query (strings) for a public ID; the claims for a signed one, whose query is
   * ignored. Claims may be numbers, booleans, strings, or empty strings that count as absent. Empty when a signed URL
   * was presented instead of a token.
   */
  readonly modifiers: Readonly<Record<string, unknown>>;
  /** The expiry of the token in Unix seconds; undefined for public IDs. */
  readonly expiresAtSeconds: number | undefined;
  /**
   * The query that opens a child URL until the token expires: `signature=…`, or nothing for public IDs. `child` must
   * contain everything that the viewer may not change: the target and the part of it.
   */
  childQuery(child: string): string;
}

/** What the access to a child depends on. */
export type OwnedPlaybackId = Pick<Playable, 'playbackId' | 'environmentId' | 'policy'>;

export interface AccessCheck {
  /**
   * Decides whether a viewer may access what belongs to `audience`: `v` playlists, files, text; `t` thumbnail; `g`
   * animated; `s` storyboard; `d` license. Public IDs admit everyone, others require a token. With `child`, a
   * signature that `childQuery` made for the same text is also accepted.
   * @throws KinoraError `forbidden` with the reason; `invalid_parameters` for a bad parameter in a token, which is
   * checked before its restriction
   */
  check(playable: Playable, request: AccessRequest, audience: Audience, child?: string): Promise<Access>;
  /**
   * The same for resources that only playlists refer to. A token does not open them, because it may allow less than
   * the whole (a lower resolution, a clip). Needs no RSA and, for keys and restrictions in use, no database query.
   */
  checkChild(playable: OwnedPlaybackId, request: AccessRequest, child: string): Promise<Access>;
  /** Makes a removed key invalid immediately. */
  forgetSigningKey(id: string): void;
  /** Applies a changed or removed restriction immediately. */
  forgetPlaybackRestriction(id: string): void;
  /** Makes keys and restrictions be read again before they are used, because changes may have been missed. */
  expireAll(): void;
}

/** Where keys and restrictions are read: the database, or the origin of an edge. */
export interface AccessRows {
  signingKeys(ids: readonly string[]): ReturnType<typeof findVerificationKeys>;
  playbackRestrictions(ids: readonly string[]): ReturnType<typeof findPlaybackRestrictionRules>;
}

export const accessRowsOf = ({ queryable }: Pick<Database, 'queryable'>): AccessRows => ({
  signingKeys: (ids) => findVerificationKeys(queryable, ids),
  playbackRestrictions: (ids) => findPlaybackRestrictionRules(queryable, ids),
});

export interface AccessCheckDeps {
  readonly rows: AccessRows;
  readonly clock: Clock;
  /** The key of child URLs is derived from it. */
  readonly childSecret: string;
  /** Lower-case parts of names that restrictions may forbid. */
  readonly riskyUserAgents: readonly string[];
}

/**
 * Keys and restrictions stay in memory for less than a minute; those that this server removes are dropped
 * immediately.
 */
export const createAccessCheck = (deps: AccessCheckDeps): AccessCheck => {
  const { rows, clock, riskyUserAgents } = deps;
  const signer = createChildSigner(deps.childSecret);
  const keys = new TtlCache<VerificationKey>({
    load: async (ids) =>
      new Map(
        (await rows.signingKeys(ids)).map((row) => [
          row.id,
          { environmentId: row.environment_id, publicKey: createPublicKey(row.public_key) },
        ]),
      ),
    clock,
  });
  const restrictions = new TtlCache({
    load: async (ids) => new Map((await rows.playbackRestrictions(ids)).map((rules) => [rules.id, rules])),
    clock,
  });
  const findKey = async (id: string) => (isId(id) ? keys.find(id) : undefined);

  const checkRestriction = async (environmentId: string, id: string | undefined, viewer: ViewerHeaders) => {
    if (id === undefined) return;
    const rules = isId(id) ? await restrictions.find(id) : undefined;
    if (!rules || rules.environment_id !== environmentId) throw refusal('Playback restriction is invalid');
    if (isRestricted(rules, viewer, riskyUserAgents)) throw refusal('Playback is restricted');
  };

  const byToken = async (playable: Playable, request: AccessRequest, audience: Audience): Promise<Access> => {
    const token = lastOf(request.query.token);
    if (!token) throw refusal('Token is missing');
    const { playbackId, environmentId } = playable;
    const verified = await verifyToken(token, { playbackId, environmentId, audience }, findKey, clock);
    const { claims, keyId, expiresAtSeconds } = verified;
    checkParameters[audience](claims, playable.plan?.durationSeconds ?? Number.POSITIVE_INFINITY);
    const restriction = claims.playback_restriction_id ?? '';
    // A value that is not a string can't name a restriction, but it must not disable the check.
    const restrictionId = restriction === '' ? undefined : String(restriction);
    await checkRestriction(environmentId, restrictionId, request);
    const grant = { expiresAtSeconds, keyId, ...(restrictionId !== undefined && { restrictionId }) };
    return signedAccess(signer, playbackId, claims, grant);
  };

  const bySignature = async (
    { playbackId, environmentId }: OwnedPlaybackId,
    request: AccessRequest,
    signature: string,
    child: string,
  ): Promise<Access> => {
    const grant = signer.verify(playbackId, child, signature);
    if (!grant) throw refusal('Token signature is invalid');
    const key = await findKey(grant.keyId);
    if (key?.environmentId !== environmentId) throw refusal('Token key is unknown');
    if (grant.expiresAtSeconds <= clock.now().getTime() / 1000) throw refusal('Token has expired');
    await checkRestriction(environmentId, grant.restrictionId, request);
    return signedAccess(signer, playbackId, {}, grant);
  };

  return {
    async check(playable, request, audience, child) {
      if (playable.policy === 'public') return publicAccess(request);
      const signature = child === undefined ? undefined : lastOf(request.query.signature);
      return signature ? bySignature(playable, request, signature, child!) : byToken(playable, request, audience);
    },
    async checkChild(playable, request, child) {
      if (playable.policy === 'public') return publicAccess(request);
      const signature = lastOf(request.query.signature);
      if (!signature) throw refusal('Token is missing');
      return bySignature(playable, request, signature, child);
    },
    forgetSigningKey: (id) => keys.forget(id),
    forgetPlaybackRestriction: (id) => restrictions.forget(id),
    expireAll: () => {
      keys.expireAll();
      restrictions.expireAll();
    },
  };
};

/**
 * Refuses invalid parameters in a token of an audience; the unknown length of an asset that is not ready refuses
 * nothing.
 */
const checkParameters: Readonly<Record<Audience, (claims: Access['modifiers'], durationSeconds: number) => unknown>> = {
  v: (claims, durationSeconds) => {
    const parsed = parsePlaybackModifiers(claims, durationSeconds);
    if ('invalid' in parsed) throw new KinoraError('invalid_parameters', { messages: [parsed.invalid] });
  },
  t: parseThumbnailParameters,
  g: parseAnimatedParameters,
  s: parseStoryboardWindow,
  d: () => undefined,
};

const publicAccess = ({ query }: AccessRequest): Access => ({
  signed: false,
  modifiers: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, lastOf(value)])),
  expiresAtSeconds: undefined,
  childQuery: () => '',
});

const signedAccess = (signer: ChildSigner, playbackId: string, claims: Access['modifiers'], grant: Grant): Access => ({
  signed: true,
  modifiers: claims,
  expiresAtSeconds: grant.expiresAtSeconds,
  childQuery: (child) => `signature=${signer.sign(playbackId, child, grant)}`,
});
