import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    partBuffers: PartBuffers;
  }
}

/** Measured: 256 KiB reads are 50 % faster than 64 KiB reads; 1 MiB is no faster. */
export const PART_BYTES = 256 * 1024;
/** For responses beyond those that get large buffers. */
const SMALL_PART_BYTES = 32 * 1024;
/** 32 MiB, enough for 64 concurrent responses. */
const MAX_LARGE = 128;

/**
 * Buffers for reading files. They are reused, because freed ones occupy memory until the next
 * garbage collection. The number of large buffers is limited: connections that stop reading hold
 * theirs until they are closed.
 */
export class PartBuffers {
  readonly #free: Buffer[] = [];
  #large = 0;

  acquire(): BufferPair {
    return new BufferPair(
      () => this.#take(),
      (buffer) => this.#free.push(buffer),
    );
  }

  #take(): Buffer {
    const free = this.#free.pop();
    if (free) return free;
    if (this.#large === MAX_LARGE) return Buffer.allocUnsafeSlow(SMALL_PART_BYTES);
    this.#large += 1;
    return Buffer.allocUnsafeSlow(PART_BYTES);
  }
}

/** The two buffers of a response: one is filled while the other is sent. */
export class BufferPair {
  readonly #take: () => Buffer;
  readonly #free: (buffer: Buffer) => void;
  readonly #buffers: Buffer[] = [];
  #turn = 0;

  constructor(take: () => Buffer, free: (buffer: Buffer) => void) {
    this.#take = take;
    this.#free = free;
  }

  /** Alternates between the two buffers; each is allocated on first use. */
  next(): Buffer {
    this.#buffers[this.#turn] ??= this.#take();
    const buffer = this.#buffers[this.#turn]!;
    this.#turn = 1 - this.#turn;
    return buffer;
  }

  /** After this call, the buffers must not be used. */
  release(): void {
    for (const buffer of this.#buffers.splice(0)) if (buffer.length === PART_BYTES) this.#free(buffer);
  }
}

/** Every `sendFile` of the app uses the same buffers. */
export const usePartBuffers = (app: FastifyInstance): void => {
  app.decorate('partBuffers', new PartBuffers());
};
