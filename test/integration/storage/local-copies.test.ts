import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LocalCopies } from '#kinora/storage/s3/local-copies.js';
import type { OpenObject } from '#kinora/storage/s3/object-client.js';

const BYTES = randomBytes(100_000);
let dir: string;
let copies: LocalCopies;
/** Ends the wait of a request for `slow/…`. */
let response: (() => void)[];
/** Answers to requests for `capped/…` have at most this many bytes. */
let cap: number;

/** A store that answers some requests late, and others with less than was asked for. */
const openObject = async (key: string, { start, end = BYTES.length }: { start: number; end?: number }) => {
  if (key.startsWith('slow/')) await new Promise<void>((resolve) => response.push(resolve));
  const sent = BYTES.subarray(start, key.startsWith('capped/') ? Math.min(end, start + cap) : end);
  const chunks = (async function* () {
    yield sent;
  })();
  return { sizeBytes: sent.length, etag: '"1"', wholeBytes: BYTES.length, chunks } satisfies OpenObject;
};
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-copies-'));
  response = [];
  cap = 1000;
  const objects = { open: openObject, stat: async () => ({ sizeBytes: BYTES.length, etag: '"1"' }) };
  // Every copy that nobody reads is beyond it.
  copies = await LocalCopies.open({ objects, dir, maxBytes: 0 });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it('makes room without waiting for the requests of other copies', async () => {
  const slow = copies.open('slow/a', undefined);
  await expect.poll(() => response.length).toBe(1);
  const quick = await copies.open('b', undefined);
  expect(BYTES.equals(await readFile(quick.path))).toBe(true);
  await quick.release();
  expect(await readdir(dir)).toEqual([]);
  response[0]!();
  const late = await slow;
  expect(BYTES.equals(await readFile(late.path))).toBe(true);
  await late.release();
  expect(await readdir(dir)).toEqual([]);
});

it('never shows zeros in place of what a store did not send', async () => {
  await expect(copies.open('capped/a', [{ start: 0, end: 50_000 }])).rejects.toMatchObject({ code: 'unavailable' });
  cap = BYTES.length;
  const whole = await copies.open('capped/a', [{ start: 0, end: 50_000 }]);
  expect((await readFile(whole.path)).subarray(0, 50_000).equals(BYTES.subarray(0, 50_000))).toBe(true);
  await whole.release();
});
