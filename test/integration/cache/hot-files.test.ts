import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CacheKey } from '#kinora/cache/cache-key.js';
import type { CachedFile } from '#kinora/cache/cached-files.js';
import type { HotContent, HotForm } from '#kinora/cache/hot-files.js';
import { SegmentStore } from '#kinora/cache/segment-store.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const assetId = 'AssetAssetAssetAssetAssetAssetAssetAsset';
const SIZE_BYTES = 100;
const SECOND_MS = 1000;

let dir: string;
let store: SegmentStore;
let nowMs: number;
const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };
/** Eight files fit, the largest that may be kept. */
const openStore = (maxBytes: number) =>
  SegmentStore.open({ dir, maxBytes, hotBytes: 8 * SIZE_BYTES, logger: quiet, clock });

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-hot-'));
  nowMs = Date.now();
  store = await openStore(1_000_000);
});
afterEach(async () => {
  vi.useRealTimers();
  await store.stop();
  await rm(dir, { recursive: true });
});

const keyOf = (number: number): CacheKey => ({ assetId, plan: 1, rendition: '720p', file: `${number}.m4s` });
const get = (number: number, sizeBytes = SIZE_BYTES): Promise<CachedFile> => {
  const key = keyOf(number);
  return store.get(key, ({ commit }) => commit(key, Buffer.alloc(sizeBytes, number + 1)));
};
/** As a response does: the file is looked up, sent, and given back. */
const request = async (number: number, sizeBytes?: number, form?: HotForm): Promise<boolean> => {
  const acquired = await (await get(number, sizeBytes)).acquire!(form);
  acquired?.release();
  return acquired !== undefined;
};
/** A form that counts how often it is written. */
const formOf = (name: string, sizeBytes = SIZE_BYTES) => {
  const bytes = Buffer.alloc(sizeBytes, name);
  return { name, sizeBytes, write: vi.fn(async () => bytes) } satisfies HotForm;
};
const isKept = async (number: number): Promise<boolean> => (await request(number)) && (await request(number));

test('keeps a file from its second request within a minute', async () => {
  expect(await request(0)).toBe(false);
  const acquired = (await (await get(0)).acquire!())!;
  expect(Buffer.from(acquired.bytes).equals(Buffer.alloc(SIZE_BYTES, 1))).toBe(true);
  acquired.release();

  expect(await request(1)).toBe(false);
  nowMs += 61 * SECOND_MS;
  expect(await request(1)).toBe(false);
  expect(await request(1)).toBe(true);
});

test('requests at the same time share one copy', async () => {
  await request(0);
  const file = await get(0);
  const acquired = (await Promise.all(Array.from({ length: 5 }, () => file.acquire!()))) as HotContent[];
  expect(new Set(acquired.map(({ bytes }) => bytes)).size).toBe(1);
  for (const { release } of acquired) release();
});

test('keeps no more than the limit, and no file that takes more than an eighth of it', async () => {
  for (let number = 0; number < 8; number += 1) expect([await request(number), await request(number)][1]).toBe(true);
  // The others were all used a moment ago.
  expect([await request(8), await request(8)]).toEqual([false, false]);
  nowMs += 11 * SECOND_MS;
  for (let number = 1; number < 8; number += 1) expect(await request(number)).toBe(true);
  expect([await request(8), await request(8)][1]).toBe(true);
  expect(await request(0)).toBe(false);
  expect([await request(9, SIZE_BYTES + 1), await request(9, SIZE_BYTES + 1)]).toEqual([false, false]);
});

test('what a slow reader holds counts until it is given back', async () => {
  const acquired: HotContent[] = [];
  for (let number = 0; number < 8; number += 1) {
    await request(number);
    acquired.push((await (await get(number)).acquire!())!);
  }
  await store.removeAsset(assetId);
  nowMs += 3600 * SECOND_MS;
  expect([await request(8), await request(8)]).toEqual([false, false]);
  acquired[0]!.release();
  expect([await request(8), await request(8)][1]).toBe(true);
});

test('forms of a file are kept beside it, by the same rules and below the same limit', async () => {
  const [form, second, large] = [formOf('a'), formOf('b'), formOf('c', SIZE_BYTES + 1)];
  expect([await isKept(0), await request(0)]).toEqual([false, true]);
  expect(await request(0, SIZE_BYTES, form)).toBe(false);
  const file = await get(0);
  const acquired = await Promise.all(Array.from({ length: 5 }, () => file.acquire!(form)));
  expect(acquired.map((each) => String(each!.bytes))).toEqual(Array(5).fill('a'.repeat(SIZE_BYTES)));
  for (const each of acquired) each!.release();
  expect([await request(0, SIZE_BYTES, second), await request(0, SIZE_BYTES, second)]).toEqual([false, true]);
  expect([await request(0, SIZE_BYTES, large), await request(0, SIZE_BYTES, large)]).toEqual([false, false]);
  // Three of eight are held.
  for (let number = 1; number < 6; number += 1) expect([await request(number), await request(number)][1]).toBe(true);
  expect([await request(6), await request(6)]).toEqual([false, false]);
  await store.removeAsset(assetId);
  expect([await request(0, SIZE_BYTES, form), await request(0, SIZE_BYTES, form)]).toEqual([false, true]);
  expect([form, second, large].map(({ write }) => write.mock.calls.length)).toEqual([2, 1, 0]);
});

test('a form that can not be written is read from the disk, and holds no memory', async () => {
  const form = { name: 'a', sizeBytes: SIZE_BYTES, write: () => Promise.reject(new Error('damaged')) };
  expect([await request(0, SIZE_BYTES, form), await request(0, SIZE_BYTES, form)]).toEqual([false, false]);
  for (let number = 1; number < 9; number += 1) expect([await request(number), await request(number)][1]).toBe(true);
});

test.each([
  ['its asset is removed', () => store.removeAsset(assetId)],
  ['its rendition is removed', () => store.removeRendition(assetId, '720p')],
  ['its file was damaged', async () => truncate((await get(0)).path, 1)],
])('a copy is removed when %s', async (_, end) => {
  await request(0);
  expect(await request(0)).toBe(true);
  await end();
  // Made again, with the same content and therefore the same name.
  expect(await request(0)).toBe(false);
});

test('a copy is removed when its file is evicted', async () => {
  await store.stop();
  store = await openStore(2 * SIZE_BYTES);
  await request(0);
  expect(await request(0)).toBe(true);
  nowMs += 11 * SECOND_MS;
  await get(1);
  await get(2);
  await expect.poll(() => store.has(keyOf(0)), { timeout: 120_000 }).toBe(false);
  expect(await request(0)).toBe(false);
});

test('releases what nobody has requested for a minute', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await request(0);
  expect(await isKept(0)).toBe(true);
  nowMs += 59 * SECOND_MS;
  vi.advanceTimersByTime(30 * SECOND_MS);
  expect(await isKept(0)).toBe(true);
  nowMs += 61 * SECOND_MS;
  vi.advanceTimersByTime(30 * SECOND_MS);
  expect(await request(0)).toBe(false);
});
