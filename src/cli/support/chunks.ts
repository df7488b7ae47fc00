import type { FileHandle } from 'node:fs/promises';
import { KinoraError } from '../../lib/errors.js';

/** Bytes that can be sent in chunks, and again from an earlier position. */
export interface ChunkSource {
  /** Undefined until the end was read. */
  readonly sizeBytes: number | undefined;
  /**
   * The bytes from `offsetBytes` to the end of a chunk, and whether nothing follows.
   * @throws KinoraError when they can't be read, or no longer
   */
  chunkAt(offsetBytes: number): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly isLast: boolean }>;
}

/** A multiple of 256 KiB, as resumable uploads want it. */
const CHUNK_BYTES = 8 * 1024 * 1024;

export const fileChunks = (file: FileHandle, path: string, sizeBytes: number): ChunkSource => {
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, sizeBytes));
  return {
    sizeBytes,
    chunkAt: async (offsetBytes) => {
      const length = Math.min(CHUNK_BYTES, sizeBytes - offsetBytes);
      const { bytesRead } = await file.read(buffer, 0, length, offsetBytes);
      if (bytesRead < length) {
        throw new KinoraError('invalid_parameters', { messages: [`${path} was truncated while it was read.`] });
      }
      return { bytes: buffer.subarray(0, length), isLast: offsetBytes + length === sizeBytes };
    },
  };
};

/** Keeps one chunk: a server that lost more than that can't get it again. */
export const streamChunks = (stream: AsyncIterable<Uint8Array>, chunkBytes = CHUNK_BYTES): ChunkSource => {
  const pieces = stream[Symbol.asyncIterator]();
  let current = { startBytes: 0, bytes: new Uint8Array(0) };
  let rest: Uint8Array = new Uint8Array(0);
  let sizeBytes: number | undefined;

  /** Up to `chunkBytes`, less only at the end. One byte beyond the chunk tells that there is more. */
  const readChunk = async (): Promise<void> => {
    const parts = [rest];
    let length = rest.length;
    while (length <= chunkBytes) {
      const { value, done } = await pieces.next();
      if (done) break;
      parts.push(value);
      length += value.length;
    }
    const all = new Uint8Array(length);
    let position = 0;
    for (const part of parts) {
      all.set(part, position);
      position += part.length;
    }
    const startBytes = current.startBytes + current.bytes.length;
    current = { startBytes, bytes: all.subarray(0, chunkBytes) };
    rest = all.slice(chunkBytes);
    if (length <= chunkBytes) sizeBytes = startBytes + length;
  };

  return {
    get sizeBytes() {
      return sizeBytes;
    },
    chunkAt: async (offsetBytes) => {
      if (offsetBytes < current.startBytes) {
        const messages = [
          'The server lost bytes that cannot be read from standard input again. Run the command again.',
        ];
        throw new KinoraError('unavailable', { messages });
      }
      if (sizeBytes === undefined && offsetBytes === current.startBytes + current.bytes.length) await readChunk();
      const bytes = current.bytes.subarray(offsetBytes - current.startBytes);
      return { bytes, isLast: sizeBytes !== undefined };
    },
  };
};
