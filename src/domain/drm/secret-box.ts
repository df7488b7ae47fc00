import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { newKeyBytes } from '../../lib/ids.js';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts the keys in the database (AES-256-GCM). */
export class SecretBox {
  readonly #key: Buffer;

  /** @param installationSecret a key for this purpose alone is derived from it */
  constructor(installationSecret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'content keys', 32));
  }

  /** `purpose` names the row: a text that was moved to another row can't be opened there. */
  seal(value: unknown, purpose: readonly string[]): string {
    const nonce = newKeyBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(associatedData(purpose));
    const parts = [nonce, cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString('base64');
  }

  /** @throws Error when the text was changed, or belongs to another row or installation */
  open(sealed: string, purpose: readonly string[]): unknown {
    const bytes = Buffer.from(sealed, 'base64');
    const tagStart = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(associatedData(purpose)).setAuthTag(bytes.subarray(tagStart));
    const parts = [decipher.update(bytes.subarray(NONCE_BYTES, tagStart)), decipher.final()];
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  }
}

const associatedData = (purpose: readonly string[]): Buffer => Buffer.from(JSON.stringify(purpose));
