import { beforeEach, describe, expect, test } from 'vitest';
import { TtlCache, type TtlCacheOptions } from './ttl-cache.js';

let nowMs: number;
let stored: Map<string, string>;
let reads: number;
/** What the database does instead of a response. */
let failure: (() => Promise<never>) | undefined;
const clock = { now: () => new Date(0), monotonicMs: () => nowMs };
const make = (options: Partial<TtlCacheOptions<{ name: string }>> = {}) => {
  const cache = new TtlCache<{ name: string }>({
    load: async (ids) => {
      reads += 1;
      if (failure) return failure();
      return new Map(ids.flatMap((id) => (stored.has(id) ? [[id, { name: stored.get(id)! }]] : [])));
    },
    clock,
    ...options,
  });
  return {
    find: async (id: string) => (await cache.find(id))?.name,
    peek: (id: string) => cache.peek(id),
    forget: (id: string) => cache.forget(id),
    forgetGroup: (group: string) => cache.forgetGroup(group),
    expireAll: () => cache.expireAll(),
  };
};
const settle = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  nowMs = 1000;
  reads = 0;
  failure = undefined;
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

test('what is in use is refreshed in one query', async () => {
  const memory = make();
  const ids = Array.from({ length: 500 }, (_, number) => `id-${number}`);
  for (const id of ids) stored.set(id, 'first');
  await Promise.all(ids.map((id) => memory.find(id)));
  reads = 0;
  for (let seconds = 0; seconds < 300; seconds += 5) {
    nowMs += 5000;
    for (const id of ids) expect(await memory.find(id)).toBe('first');
    await settle();
  }
  expect(reads).toBeLessThanOrEqual(10);
  for (const id of ids) stored.set(id, 'second');
  nowMs += 31_000;
  await memory.find('id-0');
  await settle();
  // What was not used since it was read is not refreshed.
  expect(await memory.find('id-0')).toBe('second');
  expect(reads).toBeLessThanOrEqual(12);
});

test('the memory is limited by bytes, and the least recently used leaves it', async () => {
  for (const id of 'bcd') stored.set(id, 'x'.repeat(40));
  const memory = make({ limit: { maxBytes: 100, sizeOf: ({ name }) => name.length } });
  for (const id of 'bcbd') await memory.find(id);
  expect(['b', 'c', 'd'].map((id) => memory.peek(id) !== undefined)).toEqual([true, false, true]);
  // A row that is larger than all of the memory is found, but not kept.
  stored.set('e', 'x'.repeat(200));
  expect(await memory.find('e')).toHaveLength(200);
  expect(memory.peek('e')).toBeUndefined();
});

test('a group is forgotten together, also what is being read', async () => {
  stored.set('b', 'group');
  stored.set('c', 'group');
  const memory = make({ groupOf: ({ name }) => name });
  await Promise.all(['a', 'b'].map((id) => memory.find(id)));
  const reading = memory.find('c');
  memory.forgetGroup('group');
  await reading;
  expect(['a', 'b', 'c'].map((id) => memory.peek(id) !== undefined)).toEqual([true, false, false]);
});

describe('while the database is unavailable', () => {
  const away = async () => {
    throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  };

  test('what is known holds for 15 minutes after it was read, and nothing else is found', async () => {
    const memory = make();
    await memory.find('a');
    failure = away;
    for (let minutes = 1; minutes < 15; minutes++) {
      nowMs += 60_000;
      expect(await memory.find('a')).toBe('first');
      await settle();
    }
    await expect(memory.find('b')).rejects.toThrow('refused');
    nowMs += 60_001;
    await expect(memory.find('a')).rejects.toThrow('refused');
  });

  test('it is tried once a second, and what changed is seen when it is back', async () => {
    const memory = make();
    await memory.find('a');
    failure = away;
    nowMs += 60_000;
    expect(await memory.find('a')).toBe('first');
    reads = 0;
    for (let step = 0; step < 100; step++) {
      nowMs += 100;
      expect(await memory.find('a')).toBe('first');
      await settle();
    }
    expect(reads).toBeGreaterThan(5);
    expect(reads).toBeLessThanOrEqual(10);
    failure = undefined;
    stored.clear();
    nowMs += 1000;
    await memory.find('a');
    await settle();
    expect(await memory.find('a')).toBeUndefined();
  });

  test('a definite answer is not replaced by an older one', async () => {
    const memory = make();
    await memory.find('a');
    stored.clear();
    nowMs += 55_000;
    expect(await memory.find('a')).toBeUndefined();
    failure = away;
    await expect(memory.find('a')).rejects.toThrow('refused');

    failure = undefined;
    stored.set('a', 'again');
    await memory.find('a');
    memory.forget('a');
    failure = away;
    await expect(memory.find('a')).rejects.toThrow('refused');
  });

  test('a request waits for a silent database for a second only', async () => {
    const memory = make();
    await memory.find('a');
    let fail!: (error: Error) => void;
    failure = () => new Promise((_, reject) => (fail = reject));
    nowMs += 60_000;
    expect(await memory.find('a')).toBe('first');
    reads = 0;
    expect(await memory.find('a')).toBe('first');
    expect(reads).toBe(0);
    fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    await settle();
    expect(await memory.find('a')).toBe('first');
  });

  test('what may have changed unnoticed is read again, and serves until then', async () => {
    const memory = make();
    await memory.find('a');
    stored.set('a', 'second');
    nowMs += 1;
    memory.expireAll();
    failure = away;
    expect(await memory.find('a')).toBe('first');
    failure = undefined;
    nowMs += 1001;
    await memory.find('a');
    await settle();
    expect(await memory.find('a')).toBe('second');
  });

  test('other failures are shown', async () => {
    const memory = make();
    await memory.find('a');
    failure = async () => {
      throw new Error('syntax error');
    };
    nowMs += 60_000;
    await expect(memory.find('a')).rejects.toThrow('syntax error');
  });
});
