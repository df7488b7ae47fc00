import { createHmac, createPrivateKey, sign } from 'node:crypto';

/** A signing key as the API gave it out. */
export interface OwnedKey {
  readonly keyId: string;
  /** Base64 of a PEM text. */
  readonly keySecret: string;
}

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token with any header and claims at all, properly signed with RS256. */
export const signToken = (key: OwnedKey, claims: object, header: object = { alg: 'RS256', typ: 'JWT' }): string => {
  const input = `${encode(header)}.${encode(claims)}`;
  const pem = Buffer.from(key.keySecret, 'base64').toString();
  return `${input}.${sign('sha256', Buffer.from(input), createPrivateKey(pem)).toString('base64url')}`;
};

/** A token whose signature is a MAC with a key that everybody may know. */
export const macToken = (secret: string, claims: object): string => {
  const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
};

export const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
