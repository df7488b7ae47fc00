import { expect, it } from 'vitest';
import { SharedLock } from './shared-lock.js';

/** Tasks that run until they are told to end. */
const start = () => {
  const lock = new SharedLock();
  const running = new Set<string>();
  const ends = new Map<string, () => void>();
  const task = (name: string) => async () => {
    running.add(name);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    running.delete(name);
    if (name.startsWith('failing')) throw new Error(name);
    return name;
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    shared: (name: string) => lock.shared(task(name)),
    exclusive: (name: string) => lock.exclusive(task(name)),
    end: async (name: string) => {
      ends.get(name)!();
      await settled();
      return [...running];
    },
    running: async () => {
      await settled();
      return [...running];
    },
  };
};

it('runs shared tasks together and an exclusive one alone', async () => {
  const { shared, exclusive, end, running } = start();
  const results = [shared('a'), shared('b'), exclusive('c'), exclusive('d')];
  expect(await running()).toEqual(['a', 'b']);
  expect(await end('a')).toEqual(['b']);
  expect(await end('b')).toEqual(['c']);
  expect(await end('c')).toEqual(['d']);
  expect(await end('d')).toEqual([]);
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd']);
});

it('lets waiting shared tasks go first', async () => {
  const { shared, exclusive, end, running } = start();
  const results = [exclusive('a'), exclusive('b'), shared('c')];
  expect(await running()).toEqual(['a']);
  expect(await end('a')).toEqual(['c']);
  results.push(shared('d'));
  expect(await end('c')).toEqual(['d']);
  expect(await end('d')).toEqual(['b']);
  await end('b');
  await Promise.all(results);
});

it('is free again after a failure', async () => {
  const { shared, exclusive, end, running } = start();
  const failed = exclusive('failing');
  failed.catch(() => undefined);
  const result = shared('a');
  await running();
  expect(await end('failing')).toEqual(['a']);
  await expect(failed).rejects.toThrow('failing');
  await end('a');
  expect(await result).toBe('a');
});
