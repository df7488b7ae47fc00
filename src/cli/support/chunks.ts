import type { FileHandle } from 'node:fs/promises';
import { KinoraError } from '../../lib/errors.js';

interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isLast: boolean;
}

/** Bytes that can be sent in chunks, and again from an earlier position. */
export interface ChunkSource {
  /** Undefined until the end was read. */
  readonly sizeBytes: number | undefined;
  /**
   * The bytes from `offsetBytes` to the end of a chunk, and whether nothing follows.
   * @throws KinoraError when they can't be read, or no longer
   */
  chunkAt(offsetBytes: number): Promise<Chunk>;
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
export class StreamChunks implements ChunkSource {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #chunkBytes: number;
  #current = { startBytes: 0, bytes: new Uint8Array(0) };
  #rest: Uint8Array = new Uint8Array(0);
  #sizeBytes: number | undefined;

  constructor(stream: AsyncIterable<Uint8Array>, chunkBytes = CHUNK_BYTES) {
    this.#pieces = stream[Symbol.asyncIterator]();
    this.#chunkBytes = chunkBytes;
  }

  get sizeBytes(): number | undefined {
    return this.#sizeBytes;
  }

  async chunkAt(offsetBytes: number): Promise<Chunk> {
    if (offsetBytes < this.#current.startBytes) {
      const messages = ['The server lost bytes that cannot be read from standard input again. Run the command again.'];
      throw new KinoraError('unavailable', { messages });
    }
    const isAtEnd = offsetBytes === this.#current.startBytes + this.#current.bytes.length;
    if (this.#sizeBytes === undefined && isAtEnd) await this.#readChunk();
    const bytes = this.#current.bytes.subarray(offsetBytes - this.#current.startBytes);
    return { bytes, isLast: this.#sizeBytes !== undefined };
  }

  /**
   * Up to `chunkBytes`, less only at the end. One byte beyond the chunk tells that there is more.
   */
  async #readChunk(): Promise<void> {
    const parts = [this.#rest];
    let length = this.#rest.length;
    while (length <= this.#chunkBytes) {
      const { value, done } = await this.#pieces.next();
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
    const startBytes = this.#current.startBytes + this.#current.bytes.length;
    this.#current = { startBytes, bytes: all.subarray(0, this.#chunkBytes) };
    this.#rest = all.slice(this.#chunkBytes);
    if (length <= this.#chunkBytes) this.#sizeBytes = startBytes + length;
  }
}
