import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { whenClosed } from '../plugins/when-closed.js';
import type { ByteRange } from './byte-range.js';
import type { BufferPair } from './part-buffers.js';

/**
 * Reads the bytes that follow the first `given` ones. May overwrite the part before the last one.
 */
export type ReadPart = (sentBytes: number) => Promise<Uint8Array>;

/** Reads a range of a file alternately into two buffers. */
export const readRange = (file: FileHandle, { start, end }: ByteRange, buffers: BufferPair): ReadPart => {
  return async (sentBytes) => {
    const buffer = buffers.next();
    const partBytes = Math.min(buffer.length, end - start + 1 - sentBytes);
    const { bytesRead } = await file.read(buffer, 0, partBytes, start + sentBytes);
    return buffer.subarray(0, bytesRead);
  };
};

/** Parts as they arrive. */
export const readStream = (stream: Readable): ReadPart => {
  const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  return async () => (await iterator.next()).value ?? new Uint8Array(0);
};

/** The length of a part of content in memory: large, so that few writes are needed. */
const MEMORY_PART_BYTES = 2 ** 20;

export const readBytes = (bytes: Uint8Array, { start, end }: ByteRange): ReadPart => {
  return async (sentBytes) =>
    bytes.subarray(start + sentBytes, Math.min(end + 1, start + sentBytes + MEMORY_PART_BYTES));
};

/**
 * Sends the parts that `readPart` returns and ends the response, whose head is already written. One
 * part is read while the other is sent, which takes 40 % less CPU time than a pipeline with a
 * buffer for each read. Resolves to the number of bytes passed to the connection, once it has
 * accepted everything or is closed.
 * @throws what reading throws; the connection is then cut, so that the client notices the
 * truncation
 */
export const writeParts = async (
  readPart: ReadPart,
  sizeBytes: number,
  response: FastifyReply['raw'],
): Promise<number> => {
  const closed = new Promise<void>((resolve) => whenClosed(response, resolve));
  // `close` follows, and is sufficient.
  response.on('error', () => undefined);
  let sentBytes = 0;
  let taken: Promise<void> | undefined;
  try {
    while (sentBytes < sizeBytes && !response.destroyed) {
      const bytes = await readPart(sentBytes);
      if (bytes.length === 0) throw new Error('the file is shorter than it was');
      await taken;
      if (response.destroyed) break;
      sentBytes += bytes.length;
      if (sentBytes === sizeBytes) response.end(bytes);
      else taken = Promise.race([closed, new Promise<void>((resolve) => response.write(bytes, () => resolve()))]);
    }
    await closed;
    return sentBytes;
  } catch (error) {
    response.destroy();
    throw error;
  }
};
