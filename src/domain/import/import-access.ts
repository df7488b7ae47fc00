import { createPublicKey } from 'node:crypto';
import {
  findPlaybackRestrictionRules,
  insertPlaybackRestriction,
} from '../../db/tables/playback/playback-restriction.js';
import { findVerificationKeys, insertSigningKey } from '../../db/tables/playback/signing-key.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';

/** The ID that a resource has and keeps, and its new environment. */
export interface Target {
  readonly environmentId: string;
  readonly id: string;
}

const reject = (message: string): never => {
  throw new KinoraError('invalid_parameters', { messages: [message] });
};

/**
 * Creates a playback restriction with the ID that tokens already name. False when it exists here.
 * @throws KinoraError `invalid_parameters`, `conflict` when it belongs to another environment
 */
export const importPlaybackRestriction = async (
  { database, clock, wire, onPlaybackRestrictionChanged }: DomainContext,
  { environmentId, id, rules }: Target & { readonly rules: unknown },
): Promise<boolean> => {
  if (!isId(id)) reject(`${JSON.stringify(id)} is not the ID of a playback restriction.`);
  const checked = wire.readPlaybackRestriction(rules);
  const db = database.queryable;
  const [existing] = await findPlaybackRestrictionRules(db, [id]);
  if (existing?.environment_id === environmentId) return false;
  if (existing)
    throw new KinoraError('conflict', { messages: [`The playback restriction ${id} is of another environment.`] });
  await insertPlaybackRestriction(db, { id, environment_id: environmentId, created_at: clock.now(), ...checked });
  // Tokens may have named it before it was here.
  onPlaybackRestrictionChanged(id);
  return true;
};

/**
 * Accepts tokens that another server's signing key has signed or will sign. Only the public half is
 * stored. False when the key exists here.
 * @param keyText the public or private key: PEM, or PEM in base64 as the API gives it
 * @throws KinoraError `invalid_parameters`, `conflict` when the ID has another key here
 */
export const importSigningKey = async (
  { database, clock, onSigningKeyDeleted }: DomainContext,
  { environmentId, id, keyText }: Target & { readonly keyText: string },
): Promise<boolean> => {
  if (!isId(id)) reject(`${JSON.stringify(id)} is not the ID of a signing key.`);
  const publicKey = readPublicKey(keyText);
  const db = database.queryable;
  const existing = (await findVerificationKeys(db, [id]))[0];
  if (existing?.environment_id === environmentId && existing.public_key.trim() === publicKey.trim()) return false;
  if (existing) throw new KinoraError('conflict', { messages: [`Another signing key with the ID ${id} exists here.`] });
  await insertSigningKey(db, { id, environment_id: environmentId, created_at: clock.now(), public_key: publicKey });
  // Tokens may have named it before it was here.
  onSigningKeyDeleted(id);
  return true;
};

const MIN_RSA_BITS = 2048;

/**
 * The public half of a key, as PEM.
 * @throws KinoraError `invalid_parameters`; the error of the parser is not passed on, because it
 * may quote the key
 */
export const readPublicKey = (keyText: string): string => {
  const text = keyText.includes('-----BEGIN') ? keyText : Buffer.from(keyText, 'base64').toString('utf8');
  try {
    const key = createPublicKey(text);
    if (key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS)
      return key.export({ type: 'spki', format: 'pem' }) as string;
  } catch {
    // The same advice for everything that is no key.
  }
  return reject(`The file must contain an RSA key of at least ${MIN_RSA_BITS} bits, as PEM or as PEM in base64.`);
};
