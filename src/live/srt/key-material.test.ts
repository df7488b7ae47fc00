import { describe, expect, it } from 'vitest';
import { KeyReader } from './conclusion.js';
import { cryptPayload, readKeyMaterial, unwrapKeys, wrapKeys, wrappingKey, writeKeyMaterial } from './key-material.js';

const salt = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
const PASSPHRASE = 'correct horse battery';

describe.each([16, 24, 32])('keys of %i bytes', (keyBytes) => {
  const even = Buffer.alloc(keyBytes, 0xe1);
  const odd = Buffer.alloc(keyBytes, 0x0d);
  const wrapping = wrappingKey(PASSPHRASE, { salt, keyBytes });

  it.each([
    { salt, even },
    { salt, odd },
    { salt, even, odd },
  ])('are unwrapped with the passphrase alone', (keys) => {
    const message = writeKeyMaterial(wrapKeys(keys, wrapping));
    expect(unwrapKeys(readKeyMaterial(message)!, wrapping)).toEqual(keys);
    expect(new KeyReader(PASSPHRASE).read(message)).toEqual(keys);
    expect(new KeyReader('wrong horse battery').read(message)).toBeUndefined();
  });
});

it('is damaged by any change of a byte', () => {
  const wrapping = wrappingKey(PASSPHRASE, { salt, keyBytes: 16 });
  const message = writeKeyMaterial(wrapKeys({ salt, even: Buffer.alloc(16, 1) }, wrapping));
  const reader = new KeyReader(PASSPHRASE);
  // What remains says nothing of the keys, or is half of the salt, which only frames need.
  const bytes = [0, 1, 2, 3, 8, 14, 15, 24, 31, 32, 40, message.length - 1];
  for (const at of bytes) {
    const damaged = Buffer.from(message);
    damaged[at]! ^= 0x11;
    expect(reader.read(damaged), `byte ${at}`).toBeUndefined();
  }
  expect(readKeyMaterial(message.subarray(0, -1))).toBeUndefined();
  expect(reader.read(message)).toEqual({ salt, even: Buffer.alloc(16, 1) });
});

it('encrypts with the counter of the specification', () => {
  // AES-128 of the counter: salt XOR (sequence number << 16).
  const key = Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex');
  const vector = Buffer.from('f0f1f2f3f4f5f6f7f8f9fafbfcfd0000', 'hex');
  const zeros = cryptPayload(key, vector, 0, Buffer.alloc(16));
  expect(cryptPayload(key, vector, 0, zeros)).toEqual(Buffer.alloc(16));
  const moved = Buffer.from(vector);
  moved.writeUInt32BE((vector.readUInt32BE(10) ^ 0x01020304) >>> 0, 10);
  expect(cryptPayload(key, vector, 0x01020304, Buffer.alloc(16))).toEqual(
    cryptPayload(key, moved, 0, Buffer.alloc(16)),
  );
});
