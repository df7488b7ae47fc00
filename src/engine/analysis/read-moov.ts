import { open } from 'node:fs/promises';
import { findMoov } from '../../media/mp4/sample-tables.js';

/** The whole `moov` box of an MP4 or MOV; undefined when it is missing, cut off or too large. */
export const readMoov = async (path: string): Promise<Uint8Array | undefined> => {
  const file = await open(path);
  try {
    const read = async (offset: number, length: number): Promise<Uint8Array> => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    };
    return await findMoov(read, (await file.stat()).size);
  } finally {
    await file.close();
  }
};
