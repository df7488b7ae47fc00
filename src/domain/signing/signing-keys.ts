import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { Row } from '../../db/schema.js';
import {
  findSigningKey,
  insertSigningKey,
  listSigningKeys as listSigningKeyRows,
  removeSigningKey,
} from '../../db/tables/playback/signing-key.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';

const RSA_BITS = 2048;
/** Runs in a separate thread: finding primes takes up to seconds. */
const makePair = promisify(generateKeyPair);

/** Creates a key pair; the private key (PEM, PKCS#1) is returned once and not stored. */
export const createSigningKey = async (
  context: DomainContext,
  environmentId: string,
): Promise<{ readonly key: Row<'signing_key'>; readonly privateKeyPem: string }> => {
  const { publicKey, privateKey } = await makePair('rsa', {
    modulusLength: RSA_BITS,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const key = await insertSigningKey(context.database.queryable, {
    id: newId(),
    environment_id: environmentId,
    created_at: context.clock.now(),
    public_key: publicKey,
  });
  return { key, privateKeyPem: privateKey };
};

/** Oldest first. */
export const listSigningKeys = (
  context: DomainContext,
  environmentId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<Row<'signing_key'>[]> => listSigningKeyRows(context.database.queryable, environmentId, page);

/** @throws KinoraError `not_found` */
export const getSigningKey = async (
  context: DomainContext,
  environmentId: string,
  id: string,
): Promise<Row<'signing_key'>> => {
  const key = isId(id) ? await findSigningKey(context.database.queryable, environmentId, id) : undefined;
  if (!key) throw new KinoraError('not_found');
  return key;
};

/**
 * Tokens and URLs signed with it become invalid, here immediately and on other servers within a
 * minute.
 * @throws KinoraError `not_found`
 */
export const deleteSigningKey = async (context: DomainContext, environmentId: string, id: string): Promise<void> => {
  const removed = isId(id) && (await removeSigningKey(context.database.queryable, environmentId, id));
  if (!removed) throw new KinoraError('not_found');
  context.onSigningKeyDeleted(id);
};
