import type { KeyObject } from 'node:crypto';
import { compactVerify } from 'jose';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';

export type Audience = 'v' | 't' | 'g' | 's' | 'd';

/** A key that tokens of one environment are signed with. */
export interface VerificationKey {
  readonly environmentId: string;
  readonly publicKey: KeyObject;
}

/** The requirements that a token must meet. */
export interface TokenUse {
  readonly playbackId: string;
  readonly environmentId: string;
  readonly audience: Audience;
}

export interface VerifiedToken {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly keyId: string;
  /** Whole Unix seconds, never later than the claim. */
  readonly expiresAtSeconds: number;
}

/**
 * Verifies a playback token. The first violated rule, in the order below, determines the error.
 * @throws KinoraError `forbidden` with the reason
 */
export const verifyToken = async (
  token: string,
  use: TokenUse,
  findKey: (keyId: string) => Promise<VerificationKey | undefined>,
  clock: Clock,
): Promise<VerifiedToken> => {
  const parts = token.split('.');
  const wellFormed = parts.length === 3 && parts.every((part) => BASE64URL.test(part));
  const header = wellFormed ? parseObject(parts[0]!) : undefined;
  const claims = wellFormed ? parseObject(parts[1]!) : undefined;
  if (!header || !claims) throw rejection('Token is malformed');
  if (header.alg !== 'RS256') throw rejection('Token algorithm is not supported');

  // If both name a key, the payload's is used: the Node.js SDK writes it there, the others into the
  // header.
  const keyId = claims.kid ?? header.kid;
  const key = typeof keyId === 'string' ? await findKey(keyId) : undefined;
  if (typeof keyId !== 'string' || !key || key.environmentId !== use.environmentId) {
    throw rejection('Token key is unknown');
  }
  await compactVerify(token, key.publicKey, { algorithms: ['RS256'] }).catch((cause: unknown) => {
    throw rejection('Token signature is invalid', cause);
  });

  const nowSeconds = clock.now().getTime() / 1000;
  const { exp, nbf, sub, aud } = claims;
  if (!isTime(exp) || exp <= nowSeconds) throw rejection('Token has expired');
  if (nbf !== undefined && (!isTime(nbf) || nbf > nowSeconds)) throw rejection('Token is not yet valid');
  if (sub !== use.playbackId) throw rejection('Token subject does not match');
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(use.audience)) throw rejection('Token audience does not match');
  return { claims, keyId, expiresAtSeconds: Math.floor(Math.min(exp, LATEST_SECONDS)) };
};

export const rejection = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('forbidden', { messages: [message], cause });

/** An empty signature is well-formed: tokens with `alg: none` have one. */
const BASE64URL = /^[A-Za-z0-9_-]*$/;
/** The end of year 9999, so that the digits fit into a URL. */
const LATEST_SECONDS = 253_402_300_799;

/** JSON numbers are finite, but `1e999` is parsed as infinite. */
const isTime = (value: unknown): value is number => Number.isFinite(value);

const parseObject = (part: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // Not JSON: undefined means malformed.
    return undefined;
  }
};
