import { expect, it } from 'vitest';
import { JoinedReads } from './joined-reads.js';

/** Reads that end when the test says so. */
const heldReads = () => {
  const batches: { readonly keys: readonly number[]; end(error?: Error): void }[] = [];
  const reads = new JoinedReads<number, string>(
    (keys) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(new Map(keys.map((key) => [key, `${key}`]))));
        batches.push({ keys, end });
      }),
  );
  const begun = async (count: number) => {
    await expect.poll(() => batches.length).toBe(count);
    return batches[count - 1]!;
  };
  return { read: (key: number) => reads.read(key), begun, count: () => batches.length };
};

it('reads at once, and what is requested meanwhile together', async () => {
  const { read, begun, count } = heldReads();
  const first = read(1);
  const batch = await begun(1);
  expect(batch.keys).toEqual([1]);
  const others = [read(2), read(1), read(2), read(3)];
  expect(count()).toBe(1);
  batch.end();
  expect(await first).toBe('1');
  const next = await begun(2);
  expect(next.keys).toEqual([2, 1, 3]);
  next.end();
  expect(await Promise.all(others)).toEqual(['2', '1', '2', '3']);
});

it('a failure also ends what is waiting; later reads begin again', async () => {
  const { read, begun, count } = heldReads();
  const failed = [1, 2].map((key) => expect(read(key)).rejects.toThrow('away'));
  (await begun(1)).end(new Error('away'));
  await Promise.all(failed);
  expect(count()).toBe(1);
  const later = read(1);
  (await begun(2)).end();
  expect(await later).toBe('1');
});

it('splits what is too long for one batch', async () => {
  const { read, begun } = heldReads();
  const all = Array.from({ length: 250 }, (_, key) => read(key));
  for (const [index, size] of [1, 100, 100, 49].entries()) {
    const batch = await begun(index + 1);
    expect(batch.keys).toHaveLength(size);
    batch.end();
  }
  expect(await Promise.all(all)).toEqual(Array.from({ length: 250 }, (_, key) => `${key}`));
});

it('finds nothing for a key without a row', async () => {
  const reads = new JoinedReads(async () => new Map<number, string>());
  expect(await reads.read(7)).toBeUndefined();
});
