import { expect, test } from 'vitest';
import { createLimiter } from './limiter.js';

/** Work that lasts until it is told to end. */
const startWork = (limit: ReturnType<typeof createLimiter>, signal = new AbortController().signal) => {
  let end: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = { started: false, end, done: Promise.resolve() };
  work.done = limit(signal, () => {
    work.started = true;
    return promise;
  });
  return work;
};
/** Resolves after everything that is already decided has happened. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('as many run as there are places, then the others in order', async () => {
  const limit = createLimiter(2);
  const works = [startWork(limit), startWork(limit), startWork(limit), startWork(limit)];
  const running = () => works.map(({ started }) => started);
  await turn();
  expect(running()).toEqual([true, true, false, false]);
  works[1]!.end();
  await works[1]!.done;
  await turn();
  expect(running()).toEqual([true, true, true, false]);
});

test('work that fails gives its place back', async () => {
  const limit = createLimiter(1);
  const { signal } = new AbortController();
  await expect(limit(signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(limit(signal, async () => 'next')).resolves.toBe('next');
});

test('who is aborted while waiting never runs and takes no place', async () => {
  const limit = createLimiter(1);
  const first = startWork(limit);
  const controller = new AbortController();
  const second = startWork(limit, controller.signal);
  const third = startWork(limit);
  controller.abort();
  await expect(second.done).rejects.toMatchObject({ code: 'cancelled' });
  first.end();
  await first.done;
  await turn();
  expect([second.started, third.started]).toEqual([false, true]);
  await expect(limit(controller.signal, async () => 1)).rejects.toMatchObject({ code: 'cancelled' });
});
