import { describe, expect, it } from 'vitest';
import { StreamChunks } from './chunks.js';

async function* pieces(...sizes: number[]) {
  let next = 0;
  for (const size of sizes) yield Uint8Array.from({ length: size }, () => next++);
}

/** What a server gets that stores every chunk. */
const readAll = async (sizes: readonly number[]) => {
  const source = new StreamChunks(pieces(...sizes), 8);
  const lengths: number[] = [];
  const all: number[] = [];
  for (;;) {
    const { bytes, isLast } = await source.chunkAt(all.length);
    lengths.push(bytes.length);
    all.push(...bytes);
    if (isLast) return { lengths, all, sizeBytes: source.sizeBytes };
  }
};

describe('StreamChunks', () => {
  it.each([
    [[], [0]],
    [[3], [3]],
    [[8], [8]],
    [
      [4, 4, 1],
      [8, 1],
    ],
    [[16], [8, 8]],
    [
      [25, 1],
      [8, 8, 8, 2],
    ],
    [
      [1, 0, 7, 8],
      [8, 8],
    ],
  ])('cuts pieces of %j into chunks of %j', async (sizes, lengths) => {
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const all = Array.from({ length: total }, (_, index) => index);
    expect(await readAll(sizes)).toEqual({ lengths, all, sizeBytes: total });
  });

  it('repeats a part of the current chunk, and says so when more was lost', async () => {
    const source = new StreamChunks(pieces(20), 8);
    await source.chunkAt(0);
    expect([...(await source.chunkAt(5)).bytes]).toEqual([5, 6, 7]);
    expect([...(await source.chunkAt(8)).bytes]).toHaveLength(8);
    await expect(source.chunkAt(7)).rejects.toThrow('The server lost bytes');
  });
});
