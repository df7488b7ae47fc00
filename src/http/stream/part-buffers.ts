import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    partBuffers: PartBuffers;
  }
}

/** Measured: 256 KiB reads deliver half as much again as 64 KiB, 1 MiB no more. */
export const PART_BYTES = 256 * 1024;
/** For responses beyond those that get large buffers. */
const SMALL_PART_BYTES = 32 * 1024;
/** 32 MiB, enough for 64 responses at a time. */
const MAX_LARGE = 128;

/** The two buffers of a response: one is read into while the other is sent. */
export interface BufferPair {
  /** The other buffer than the time before. The first is made when it is asked for. */
  next(): Buffer;
  /** Nothing may read or write the buffers any more. */
  giveBack(): void;
}

/**
 * Lends the buffers that responses read files into. They are used again, since freed ones occupy memory until the next garbage
 * collection. Only so many are large: connections that stop reading hold their buffers until they are closed.
 */
export interface PartBuffers {
  lend(): BufferPair;
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
    lend() {
      const taken: Buffer[] = [];
      let turn = 0;
      return {
        next() {
          taken[turn] ??= take();
          const buffer = taken[turn]!;
          turn = 1 - turn;
          return buffer;
        },
        giveBack() {
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
