import type { FileHandle } from 'node:fs/promises';
import { KinoraError } from '../../lib/errors.js';
import { isNoSpace } from '../../lib/no-space.js';

/** @throws KinoraError `unavailable` when the disk is full */
export const writeFully = async (handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> => {
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
    }
  } catch (cause) {
    // Space can be freed while the job waits for its next try.
    if (isNoSpace(cause)) throw new KinoraError('unavailable', { cause, details: { stage: 'storage full' } });
    throw cause;
  }
};
