import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * SHA-256 is enough: a secret has 450 random bits and can't be guessed, and it is checked on every
 * request.
 */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** Takes the same time whichever characters differ. */
export const isSecretOf = (secretHash: string, secret: string): boolean =>
  timingSafeEqual(Buffer.from(secretHash, 'hex'), Buffer.from(hashSecret(secret), 'hex'));
