import { expect, it } from 'vitest';
import { CurrentReads } from './current-reads.js';

interface Value {
  readonly of: string;
}

const start = (maxEntries = 10) => {
  let changes = 0;
  let queries = 0;
  const reads = new CurrentReads<Value>(() => changes, maxEntries);
  const read = (key: string, during: () => void = () => undefined) =>
    reads.read(key, async () => {
      queries += 1;
      during();
      return { of: `${key} after ${changes} changes` };
    });
  const change = () => {
    changes += 1;
  };
  return { reads, read, change, queries: () => queries };
};

it('queries once until the data changes', async () => {
  const { read, change, queries } = start();
  const first = await read('a');
  expect(await read('a')).toBe(first);
  expect((await read('b'))!.of).toBe('b after 0 changes');
  change();
  expect([(await read('a'))!.of, (await read('b'))!.of]).toEqual(['a after 1 changes', 'b after 1 changes']);
  expect(queries()).toBe(4);
});

it('keeps nothing that was read while the data changed', async () => {
  const { read, change, queries } = start();
  await read('a', change);
  // The next reader of another key has seen the change.
  await Promise.all([read('b'), read('c', change)]);
  await Promise.all(['a', 'b', 'c'].map((key) => read(key)));
  expect(queries()).toBe(6);
});

it('keeps neither what does not exist nor more than its limit', async () => {
  const { reads, read, queries } = start(2);
  expect(await reads.read('none', async () => undefined)).toBeUndefined();
  expect(await reads.read('none', async () => ({ of: 'new' }))).toEqual({ of: 'new' });
  for (const key of ['a', 'b', 'a', 'b']) await read(key);
  expect(queries()).toBe(2);
  await read('c');
  await read('a');
  expect(queries()).toBe(4);
});
