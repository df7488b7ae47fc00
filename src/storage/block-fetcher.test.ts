import { expect, it } from 'vitest';
import { BlockFetcher } from './block-fetcher.js';

const BLOCK = 64 * 1024;
const file = Buffer.from(Uint8Array.from({ length: 3 * BLOCK + 10 }, (_, index) => index % 251));

/** A fetcher whose origin answers with what `alter` makes of a range's bytes. */
const start = (alter: (bytes: Buffer) => Buffer) => {
  const stored = Buffer.alloc(file.length);
  let readable = 0;
  const asked: [number, number][] = [];
  const blocks = new BlockFetcher({
    blockBytes: BLOCK,
    origin: {
      sizeBytes: file.length,
      read: async function* ({ start, end }) {
        asked.push([start, end]);
        const bytes = alter(file.subarray(start, end));
        yield bytes.subarray(0, 100);
        yield bytes.subarray(100);
      },
    },
    signal: new AbortController().signal,
    readableBytes: () => readable,
    begin: async () => {},
    put: async (offset, chunk) => void stored.set(chunk, offset),
  });
  return { blocks, stored, asked, arrive: (bytes: number) => (readable = bytes) };
};

it('fetches each block once, and what has arrived otherwise not at all', async () => {
  const { blocks, stored, asked, arrive } = start((bytes) => bytes);
  await blocks.load([{ start: BLOCK + 5, end: BLOCK + 6 }]);
  await blocks.load([{ start: BLOCK, end: 2 * BLOCK }]);
  arrive(BLOCK / 2);
  await blocks.load([{ start: 0, end: file.length }]);
  expect(asked).toEqual([
    [BLOCK, 2 * BLOCK],
    [BLOCK / 2, BLOCK],
    [2 * BLOCK, file.length],
  ]);
  expect(stored.subarray(BLOCK / 2).equals(file.subarray(BLOCK / 2))).toBe(true);
});

it('refuses a range that ends early, and asks for it again', async () => {
  let lacks = 1;
  const { blocks, stored, asked } = start((bytes) => bytes.subarray(0, bytes.length - lacks));
  await expect(blocks.load([{ start: 0, end: file.length }])).rejects.toMatchObject({
    code: 'unavailable',
    details: { start: 0, end: file.length, received: file.length - 1 },
  });
  expect([0, 1, 2, 3].some((block) => blocks.isFetched(block))).toBe(false);
  lacks = 0;
  await blocks.load([{ start: 0, end: file.length }]);
  expect([asked.length, stored.equals(file), blocks.isFetched(3)]).toEqual([2, true, true]);
});

it('stores nothing behind the end of a range', async () => {
  const { blocks, stored } = start((bytes) => Buffer.concat([bytes, Buffer.alloc(10, 'x')]));
  await expect(blocks.load([{ start: 0, end: 1 }])).rejects.toMatchObject({ code: 'unavailable' });
  expect(stored.subarray(BLOCK).every((byte) => byte === 0)).toBe(true);
});
