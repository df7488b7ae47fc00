import { createCipheriv, createDecipheriv, pbkdf2Sync } from 'node:crypto';
import { KEY } from './packets.js';

/**
 * The message that carries the keys of a stream, wrapped with a key of the passphrase
 * (draft-sharabayko-srt-01, 3.2.2 and 6).
 */
export interface KeyMaterial {
  /** Length of keys in bytes: 16, 24 or 32. */
  readonly keyBytes: number;
  readonly salt: Buffer;
  /** Bits of `KEY`: which keys there are. */
  readonly keyFlags: number;
  /** Both keys, the even one first (RFC 3394). */
  readonly wrapped: Buffer;
}

/** The keys of a stream; one of them may be absent. */
export interface StreamKeys {
  readonly salt: Buffer;
  readonly even?: Buffer;
  readonly odd?: Buffer;
}

const HEADER_BYTES = 16;
const SALT_BYTES = 16;
const CHECK_BYTES = 8;
/** Version 1 of a message with keys. */
const VERSION_AND_TYPE = 0x12;
const SIGNATURE = 0x2029;
const AES_CTR = 2;
const FOR_SRT = 2;
const ITERATIONS = 2048;
/** Only the end of the salt makes the wrapping key. */
const PASSPHRASE_SALT_BYTES = 8;
const WRAP_IV = Buffer.alloc(8, 0xa6);

/** Undefined when it is damaged, or for another cipher than AES-CTR. */
export const readKeyMaterial = (bytes: Buffer): KeyMaterial | undefined => {
  if (bytes.length < HEADER_BYTES || bytes[0] !== VERSION_AND_TYPE || bytes.readUInt16BE(1) !== SIGNATURE)
    return undefined;
  const keyFlags = bytes[3]! & 3;
  const [saltBytes, keyBytes] = [bytes[14]! * 4, bytes[15]! * 4];
  if (keyFlags === 0 || bytes[8] !== AES_CTR || saltBytes !== SALT_BYTES || ![16, 24, 32].includes(keyBytes))
    return undefined;
  const keysAt = HEADER_BYTES + saltBytes;
  const end = keysAt + CHECK_BYTES + keyBytes * (keyFlags === 3 ? 2 : 1);
  if (bytes.length < end) return undefined;
  return {
    keyBytes,
    keyFlags,
    salt: Buffer.from(bytes.subarray(HEADER_BYTES, keysAt)),
    wrapped: bytes.subarray(keysAt, end),
  };
};

export const writeKeyMaterial = ({ keyBytes, salt, keyFlags, wrapped }: KeyMaterial): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = VERSION_AND_TYPE;
  header.writeUInt16BE(SIGNATURE, 1);
  header[3] = keyFlags;
  header[8] = AES_CTR;
  header[10] = FOR_SRT;
  header[14] = salt.length / 4;
  header[15] = keyBytes / 4;
  return Buffer.concat([header, salt, wrapped]);
};

/** The key that wraps others. Takes about a millisecond. */
export const wrappingKey = (passphrase: string, { salt, keyBytes }: Pick<KeyMaterial, 'salt' | 'keyBytes'>): Buffer =>
  pbkdf2Sync(passphrase, salt.subarray(-PASSPHRASE_SALT_BYTES), ITERATIONS, keyBytes, 'sha1');

/** Undefined for a wrong wrapping key. */
export const unwrapKeys = ({ keyBytes, salt, keyFlags, wrapped }: KeyMaterial, key: Buffer): StreamKeys | undefined => {
  const decipher = createDecipheriv(`id-aes${keyBytes * 8}-wrap`, key, WRAP_IV);
  let bytes: Buffer;
  try {
    bytes = Buffer.concat([decipher.update(wrapped), decipher.final()]);
  } catch {
    return undefined;
  }
  const first = bytes.subarray(0, keyBytes);
  if (keyFlags === 3) return { salt, even: first, odd: bytes.subarray(keyBytes) };
  return keyFlags === KEY.even ? { salt, even: first } : { salt, odd: first };
};

export const wrapKeys = ({ salt, even, odd }: StreamKeys, key: Buffer): KeyMaterial => {
  const cipher = createCipheriv(`id-aes${key.length * 8}-wrap`, key, WRAP_IV);
  const keys = Buffer.concat([even ?? Buffer.alloc(0), odd ?? Buffer.alloc(0)]);
  const wrapped = Buffer.concat([cipher.update(keys), cipher.final()]);
  return { keyBytes: key.length, salt, keyFlags: (even ? KEY.even : 0) | (odd ? KEY.odd : 0), wrapped };
};

/** Encrypts or decrypts a payload (AES-CTR does both). @param sequence of the packet, 31 bits */
export const cryptPayload = (key: Buffer, salt: Buffer, sequence: number, payload: Uint8Array): Buffer => {
  const counter = Buffer.alloc(16);
  counter.writeUInt32BE(sequence, 10);
  for (let at = 0; at < 14; at += 1) counter[at]! ^= salt[at]!;
  return createCipheriv(`aes-${key.length * 8}-ctr`, key, counter).update(payload);
};
