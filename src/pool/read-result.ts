import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { KinoraError } from '../lib/errors.js';

/**
 * Reads a file that a media process left at a path of its job; such files must not be read in any
 * other way. A malicious file may control the process: a link could expose any file of the server,
 * a pipe would block a thread of the server forever, and a file may grow while it is read. All
 * functions throw KinoraError `media_failed` when the path is not a plain file.
 */

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Missing file, link, socket. */
const NO_PLAIN_FILE = new Set(['ENOENT', 'ELOOP', 'ENXIO']);
const READ_SIZE_BYTES = 2 ** 20;

const rejected = (reason: string, cause?: unknown): KinoraError =>
  new KinoraError('media_failed', { cause, details: { stage: 'result', reason } });

const openResult = async (path: string): Promise<{ handle: FileHandle; sizeBytes: number }> => {
  const handle = await open(path, FLAGS).catch((error: NodeJS.ErrnoException) => {
    throw NO_PLAIN_FILE.has(error.code ?? '') ? rejected('no plain file', error) : error;
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw rejected('no plain file');
    return { handle, sizeBytes: stats.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
};

/** Reads the whole file; refuses a file of more than `maxBytes`. */
export const readResult = async (path: string, maxBytes: number): Promise<Buffer> => {
  const { handle, sizeBytes } = await openResult(path);
  try {
    if (sizeBytes > maxBytes) throw rejected(`${sizeBytes} bytes are too many`);
    const bytes = Buffer.alloc(sizeBytes);
    for (let done = 0; done < sizeBytes; ) {
      const { bytesRead } = await handle.read(bytes, done, sizeBytes - done, done);
      if (bytesRead === 0) throw rejected('it became shorter');
      done += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
};

/** Streams the current bytes of the file in large pieces. */
export const streamResult = async (path: string): Promise<Readable> => {
  const { handle, sizeBytes } = await openResult(path);
  if (sizeBytes > 0) return handle.createReadStream({ start: 0, end: sizeBytes - 1, highWaterMark: READ_SIZE_BYTES });
  await handle.close();
  return Readable.from([]);
};
