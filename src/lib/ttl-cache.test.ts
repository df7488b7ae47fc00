import { beforeEach, describe, expect, test } from 'vitest';
import { createTtlCache } from './ttl-cache.js';

let nowMs: number;
let stored: Map<string, string>;
let reads: number;
const clock = { now: () => new Date(0), monotonicMs: () => nowMs };
const make = () =>
  createTtlCache(async (id) => {
    reads += 1;
    return stored.get(id);
  }, clock);
const settle = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  nowMs = 1000;
  reads = 0;
  stored = new Map([['a', 'first']]);
});

describe('an answer', () => {
  test('is read once while it is fresh', async () => {
    const memory = make();
    expect(await Promise.all([memory.find('a'), memory.find('a')])).toEqual(['first', 'first']);
    nowMs += 29_999;
    expect([await memory.find('a'), reads]).toEqual(['first', 1]);
  });

  test('is read again beside the request from thirty seconds on', async () => {
    const memory = make();
    await memory.find('a');
    stored.set('a', 'second');
    nowMs += 30_001;
    expect(await Promise.all([memory.find('a'), memory.find('a')])).toEqual(['first', 'first']);
    await settle();
    expect([await memory.find('a'), reads]).toEqual(['second', 2]);
  });

  test('that is gone is gone within a minute, used or not', async () => {
    const [used, idle] = [make(), make()];
    await Promise.all([used.find('a'), idle.find('a')]);
    stored.clear();
    nowMs += 30_001;
    await used.find('a');
    await settle();
    expect(await used.find('a')).toBeUndefined();
    nowMs += 29_000;
    expect(await idle.find('a')).toBeUndefined();
  });

  test('is forgotten at once, also when it is being read', async () => {
    const memory = make();
    const reading = memory.find('a');
    stored.clear();
    memory.forget('a');
    await reading;
    expect(await memory.find('a')).toBeUndefined();

    stored.set('a', 'new');
    await memory.find('a');
    nowMs += 30_001;
    await memory.find('a');
    memory.forget('a');
    stored.clear();
    await settle();
    expect(await memory.find('a')).toBeUndefined();
  });

  test('of nothing is not kept', async () => {
    const memory = make();
    expect(await memory.find('b')).toBeUndefined();
    stored.set('b', 'made');
    expect(await memory.find('b')).toBe('made');
  });
});

test('while the database is unavailable what is known holds until it expires', async () => {
  let away = false;
  const memory = createTtlCache(async () => {
    if (away) throw new Error('away');
    return 'known';
  }, clock);
  await memory.find('a');
  away = true;
  nowMs += 31_000;
  expect(await memory.find('a')).toBe('known');
  await settle();
  expect(await memory.find('a')).toBe('known');
  nowMs += 25_000;
  await expect(memory.find('a')).rejects.toThrow('away');
  away = false;
  expect(await memory.find('a')).toBe('known');
});
