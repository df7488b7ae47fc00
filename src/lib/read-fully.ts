import type { FileHandle } from 'node:fs/promises';

/**
 * Fills `target` with the bytes of a file from `position` on; a single read may return fewer.
 * @throws Error when the file ends before
 */
export const readFully = async (file: FileHandle, target: Uint8Array, position: number): Promise<void> => {
  for (let done = 0; done < target.length; ) {
    const { bytesRead } = await file.read(target, done, target.length - done, position + done);
    if (bytesRead === 0) throw new Error('the file is shorter than it was');
    done += bytesRead;
  }
};
