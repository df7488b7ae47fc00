import { createPublicKey } from 'node:crypto';
import { lastOf } from '../../api/validate/list-query.js';
import type { Database } from '../../db/database.js';
import { findPlaybackRestrictionRules } from '../../db/tables/playback/playback-restriction.js';
import { findVerificationKey } from '../../db/tables/playback/signing-key.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { createTtlCache } from '../../lib/ttl-cache.js';
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

/** What the decision looks at of a viewer's request. */
export interface AccessRequest extends ViewerHeaders {
  /** As parsed; of a repeated parameter the last one counts. `token` and `signature` are read. */
  readonly query: Readonly<Record<string, unknown>>;
}

/** What a viewer who was let in may have. */
export interface Access {
  /** True for what is not public: the answer must be `Cache-Control: private`, no shared cache may give it to others. */
  readonly signed: boolean;
  /**
   * Parameters of the answer: the query of a public id (one text each), the claims of a signed one, whose query then has
   * no say. Values of claims may be numbers, booleans, texts, or empty texts that count as absent. Nothing is left of them
   * where a signed address was shown instead of a token.
   */
  readonly modifiers: Readonly<Record<string, unknown>>;
  /** When the token ends, in Unix seconds; undefined for public ids. */
  readonly expiresAtSeconds: number | undefined;
  /**
   * Query that opens a child address until the token ends: `signature=…`, or nothing for public ids. `child` must tell
   * everything that the viewer may not change: what it leads to and which part of it.
   */
  childQuery(child: string): string;
}

export interface AccessCheck {
  /**
   * Decides whether a viewer may have what belongs to `audience`: `v` playlists, files, text; `t` thumbnail; `g` animated;
   * `s` storyboard; `d` license. Public ids let everybody in, others need a token. With `child` a signature that
   * `childQuery` made of the same text is as good as a token.
   * @throws KinoraError `forbidden` with the reason; `invalid_parameters` for a bad parameter in a token, which comes before its restriction
   */
  check(playable: Playable, request: AccessRequest, audience: Audience, child?: string): Promise<Access>;
  /**
   * The same for what only playlists lead to: a token does not open it, since it may allow less than the whole (a lower
   * resolution, a clip). Needs neither RSA nor, for keys and restrictions in use, the database.
   */
  checkChild(playable: Playable, request: AccessRequest, child: string): Promise<Access>;
  /** Makes a removed key unknown at once. */
  forgetSigningKey(id: string): void;
  /** Makes a changed or removed restriction count at once. */
  forgetPlaybackRestriction(id: string): void;
}

export interface AccessCheckDeps {
  readonly database: Database;
  readonly clock: Clock;
  /** Of the database; the key of child addresses comes from it. */
  readonly installationSecret: string;
  /** Lower-case parts of names that restrictions may forbid. */
  readonly riskyUserAgents: readonly string[];
}

/** Keys and restrictions stay in memory for less than a minute; what this server removes is gone at once. */
export const createAccessCheck = (deps: AccessCheckDeps): AccessCheck => {
  const { clock, riskyUserAgents } = deps;
  const db = deps.database.queryable;
  const signer = createChildSigner(deps.installationSecret);
  const keys = createTtlCache(async (id): Promise<VerificationKey | undefined> => {
    const row = await findVerificationKey(db, id);
    return row && { environmentId: row.environment_id, publicKey: createPublicKey(row.public_key) };
  }, clock);
  const restrictions = createTtlCache((id) => findPlaybackRestrictionRules(db, id), clock);
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
    // Anything but a text can't name a restriction, and must not lift it.
    const restrictionId = restriction === '' ? undefined : String(restriction);
    await checkRestriction(environmentId, restrictionId, request);
    const grant = { expiresAtSeconds, keyId, ...(restrictionId !== undefined && { restrictionId }) };
    return signedAccess(signer, playbackId, claims, grant);
  };

  const bySignature = async (
    { playbackId, environmentId }: Playable,
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
  };
};

/** Refuses what a token of an audience asks for; the length of an asset that is not ready refuses nothing. */
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
