import { createCipheriv } from 'node:crypto';

/** Bytes of an AES block. */
export const BLOCK_BYTES = 16;
/** Of ten blocks of video one is encrypted (ISO/IEC 23001-7, 10.4.2). */
export const VIDEO_PATTERN = { encrypted: 1, clear: 9 } as const;

/** A part of a sample: bytes in the clear, then bytes that are encrypted. */
export interface Subsample {
  readonly clearBytes: number;
  readonly protectedBytes: number;
}

/** A content key. */
export interface CbcsKey {
  /** 16 bytes. */
  readonly key: Uint8Array;
  /** The constant initialization vector: 16 bytes. */
  readonly iv: Uint8Array;
}

const encryptBlocks = ({ key, iv }: CbcsKey, blocks: Uint8Array): Uint8Array => {
  const cipher = createCipheriv('aes-128-cbc', key, iv).setAutoPadding(false);
  return cipher.update(blocks);
};

/** Encrypts all whole blocks of an audio sample in place; the rest stays clear. */
export const encryptWhole = (key: CbcsKey, sample: Uint8Array): void => {
  const blocks = sample.subarray(0, sample.length - (sample.length % BLOCK_BYTES));
  if (blocks.length > 0) blocks.set(encryptBlocks(key, blocks));
};

/** Encrypts one block of ten in place; a partial block at the end stays clear. */
export const encryptPattern = (key: CbcsKey, range: Uint8Array): void => {
  const stride = (VIDEO_PATTERN.encrypted + VIDEO_PATTERN.clear) * BLOCK_BYTES;
  const count = Math.floor((range.length - BLOCK_BYTES) / stride) + 1;
  if (range.length < BLOCK_BYTES) return;
  const blocks = new Uint8Array(count * BLOCK_BYTES);
  for (let index = 0; index < count; index++) {
    blocks.set(range.subarray(index * stride, index * stride + BLOCK_BYTES), index * BLOCK_BYTES);
  }
  const encrypted = encryptBlocks(key, blocks);
  for (let index = 0; index < count; index++) {
    range.set(encrypted.subarray(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES), index * stride);
  }
};
