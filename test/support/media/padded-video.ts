import { createCipheriv, createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';

const BLOCK_BYTES = 1024 * 1024;
const BOX_HEADER_BYTES = 8;

/**
 * A video as large as wanted that is quickly made and quickly indexed: the MP4 or MOV of `from` and
 * a `free` box (ISO/IEC 14496-12, 8.1.2) behind it, with bytes that never repeat, so that a chunk
 * at a wrong place can't go unnoticed.
 */
export const paddedVideo = async (from: string, to: string, sizeBytes: number): Promise<void> => {
  const video = await readFile(from);
  const header = Buffer.alloc(BOX_HEADER_BYTES);
  header.writeUInt32BE(sizeBytes - video.length);
  header.write('free', 4);
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16, 1), Buffer.alloc(16));
  const zeros = Buffer.alloc(BLOCK_BYTES);
  const file = await open(to, 'w');
  try {
    await file.writeFile(Buffer.concat([video, header]));
    for (let left = sizeBytes - video.length - BOX_HEADER_BYTES; left > 0; left -= BLOCK_BYTES) {
      await file.writeFile(noise.update(zeros.subarray(0, Math.min(left, BLOCK_BYTES))));
    }
  } finally {
    await file.close();
  }
};

export const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: BLOCK_BYTES })) hash.update(chunk);
  return hash.digest('hex');
};
