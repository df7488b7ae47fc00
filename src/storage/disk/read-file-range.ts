import { open } from 'node:fs/promises';

/** Reads `length` bytes of a file. @throws when it is shorter */
export const readFileRange = async (path: string, start: number, length: number): Promise<Uint8Array> => {
  const file = await open(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await file.read(bytes, done, length - done, start + done);
      if (bytesRead === 0) throw new Error(`${path} is shorter than ${start + length} bytes`);
      done += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
};
