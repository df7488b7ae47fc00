import type { FileHandle } from 'node:fs/promises';
import { isNoSpace, noSpaceError } from '../../lib/no-space.js';

/** @throws KinoraError `unavailable` when the disk is full */
export const writeFully = async (handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> => {
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
    }
  } catch (error) {
    throw isNoSpace(error) ? noSpaceError(error, { stage: 'storage full' }) : error;
  }
};
