import { randomBytes, randomInt, randomUUID } from 'node:crypto';

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const LOWER_ALPHANUMERIC = 'abcdefghijklmnopqrstuvwxyz0123456789';

const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/**
 * 40 characters `[A-Za-z0-9]` for assets, playback ids, tracks, uploads (reference
 * errors-and-pagination.md 5).
 */
export const newId = (): string => randomText(ALPHANUMERIC, 40);

/** 6 characters `[a-z0-9]` for environments and webhooks. */
export const newShortId = (): string => randomText(LOWER_ALPHANUMERIC, 6);

/** 75 base64url-like characters; shown once, stored hashed (reference system.md 2). */
export const newSecret = (): string => randomBytes(57).toString('base64url').slice(0, 75);

/** 32 characters `[a-z0-9]`, the key of a webhook's signatures; shown once. */
export const newSigningSecret = (): string => randomText(LOWER_ALPHANUMERIC, 32);

/** Bytes of a key, of a vector or of a nonce. */
export const newKeyBytes = (count: number): Uint8Array => randomBytes(count);

export const newUuid = (): string => randomUUID();

/** Imported resources keep the IDs of their source, which have other lengths. */
const ID = /^[A-Za-z0-9]{20,64}$/;

/** False for text that can never name a resource, so that a 404 needs no database query. */
export const isId = (text: string): boolean => ID.test(text);

const SHORT_ID = /^[a-z0-9]{6}$/;

/** The same for IDs of `newShortId`. */
export const isShortId = (text: string): boolean => SHORT_ID.test(text);

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);

/** A prefix and 24 characters `[A-Za-z0-9]`. */
export const newPrefixedId = (prefix: string): string => `${prefix}_${randomText(ALPHANUMERIC, 24)}`;

const PREFIXED_ID = /^([a-z]+)_[A-Za-z0-9]{24}$/;

/** The same as `isId` for IDs of `newPrefixedId`. */
export const isPrefixedId = (prefix: string, text: string): boolean => PREFIXED_ID.exec(text)?.[1] === prefix;
