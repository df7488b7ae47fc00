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

/** The two buffers of a response: one is filled while the other is sent. */
export interface BufferPair {
  /** Alternates between the two buffers; each is allocated on first use. */
  next(): Buffer;
  /** After this call, the buffers must not be used. */
  release(): void;
}

/**
 * Buffers for reading files. They are reused, because freed ones occupy memory until the next garbage
 * collection. The number of large buffers is limited: connections that stop reading hold theirs until they are
 * closed.
 */
export interface PartBuffers {
  acquire(): BufferPair;
}

export const createPartBuffers = (): PartBuffers => {
  const free: Buffer[] = [];
  let made = 0;
  const take = (): Buffer => {
    const known = free.pop();
    if (known) return known;
    if (made === MAX_LARGE) return Buffer.allocUnsafeSlow(SMALL_PART_BYTES);
    made++;
    return Buffer.allocUnsafeSlow(PART_BYTES);
  };
  return {
    acquire() {
      const taken: Buffer[] = [];
      let turn = 0;
      return {
        next() {
          taken[turn] ??= take();
          const buffer = taken[turn]!;
          turn = 1 - turn;
          return buffer;
        },
        release() {
          for (const buffer of taken.splice(0)) if (buffer.length === PART_BYTES) free.push(buffer);
        },
      };
    },
  };
};

/** Every `sendFile` of the app uses the same buffers. */
export const usePartBuffers = (app: FastifyInstance): void => {
  app.decorate('partBuffers', createPartBuffers());
};
