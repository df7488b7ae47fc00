import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CacheKey, liveRendition } from '#kinora/cache/cache-key.js';
import type { Producer } from '#kinora/cache/productions.js';
import { SegmentStore } from '#kinora/cache/segment-store.js';
import { FirstSegments } from '#kinora/early/first-segments.js';
import { systemClock } from '#kinora/lib/clock.js';
import { isKinoraError } from '#kinora/lib/errors.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const assetId = 'AssetAssetAssetAssetAssetAssetAssetAsset';
const keyOf = (file: string, asset = assetId): CacheKey => ({ assetId: asset, plan: 1, rendition: '720p', file });

let dir: string;
let store: SegmentStore;
let nowMs: number;
const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };

const openStore = (maxBytes = 1_000_000) => SegmentStore.open({ dir, maxBytes, logger: quiet, clock });

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-cache-'));
  nowMs = Date.now();
  store = await openStore();
});
afterEach(async () => {
  await store.stop();
  expect(await readdir(join(dir, 'tmp'))).toEqual([]);
  await rm(dir, { recursive: true });
});

const producing =
  (key: CacheKey, bytes: Uint8Array | string): Producer =>
  ({ commit }) =>
    commit(key, typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
const never: Producer = () => Promise.reject(new Error('must not be produced'));

/** A production that the test finishes by hand. */
const manual = (key: CacheKey, bytes = 'bytes') => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let start = () => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const state = { runs: 0, aborted: false, open, started };
  const producer: Producer = async (production) => {
    state.runs++;
    start();
    production.signal.addEventListener('abort', () => {
      state.aborted = true;
      open();
    });
    await gate;
    production.signal.throwIfAborted();
    await producing(key, bytes)(production);
  };
  return { state, producer };
};

test('many callers, one production', async () => {
  const { state, producer } = manual(keyOf('0.m4s'));
  const callers = Array.from({ length: 20 }, () => store.get(keyOf('0.m4s'), producer));
  await state.started;
  state.open();
  const files = await Promise.all(callers);
  expect(state.runs).toBe(1);
  expect(new Set(files.map((file) => file.path)).size).toBe(1);
  expect(await readFile(files[0]!.path, 'utf8')).toBe('bytes');
  expect(files[0]!.sizeBytes).toBe(5);
  expect(files[0]!.etag).toMatch(/^"[0-9a-f]{32}"$/);
  expect(await store.get(keyOf('0.m4s'), never)).toEqual(files[0]);
});

test('a caller that aborts drops only its own wait', async () => {
  const { state, producer } = manual(keyOf('0.m4s'));
  const leaving = new AbortController();
  const left = store.get(keyOf('0.m4s'), producer, { signal: leaving.signal });
  const stays = store.get(keyOf('0.m4s'), producer);
  const outcome = left.catch((error: unknown) => error);
  leaving.abort();
  expect(isKinoraError(await outcome, 'cancelled')).toBe(true);
  expect(state.aborted).toBe(false);
  state.open();
  expect((await stays).sizeBytes).toBe(5);
});

test('nobody waits: the production ends, and the next caller starts a new one', async () => {
  const first = manual(keyOf('0.m4s'));
  const leaving = new AbortController();
  const left = store.get(keyOf('0.m4s'), first.producer, { signal: leaving.signal }).catch((error: unknown) => error);
  await first.state.started;
  leaving.abort();
  const again = store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'second'));
  expect(isKinoraError(await left, 'cancelled')).toBe(true);
  expect(first.state.aborted).toBe(true);
  expect(await readFile((await again).path, 'utf8')).toBe('second');
});

test('of two productions that commit one key at once, the first stays and both serve its file', async () => {
  const key = keyOf('0.m4s');
  const barrier = { arrived: 0, open: () => {} };
  const both = new Promise<void>((resolve) => {
    barrier.open = resolve;
  });
  const deaf =
    (bytes: string): Producer =>
    async ({ commit }) => {
      if (++barrier.arrived === 2) barrier.open();
      await both;
      await commit(key, Buffer.from(bytes));
    };
  const leaving = new AbortController();
  const left = store.get(key, deaf('first'), { signal: leaving.signal }).catch((error: unknown) => error);
  await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  const served = await store.get(key, deaf('other'));
  await left;
  await store.stop();
  const text = await readFile(served.path, 'utf8');
  expect(['first', 'other']).toContain(text);
  expect(served.sizeBytes).toBe(text.length);
  expect(await readdir(join(dir, 'As', assetId, '1', '720p'))).toHaveLength(1);
});

test('one production serves the waiters of every key it covers, each as soon as it can', async () => {
  const keys = [0, 1, 2].map((number) => keyOf(`${number}.m4s`));
  let finish = () => {};
  const last = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const chunk: Producer = async (production) => {
    await producing(keys[0]!, 'zero')(production);
    await producing(keys[1]!, 'one')(production);
    await last;
    await producing(keys[2]!, 'two')(production);
  };
  const first = store.get(keys[0]!, chunk, { covers: keys.slice(1) });
  const second = store.get(keys[1]!, never);
  const third = store.get(keys[2]!, never);
  expect(await readFile((await first).path, 'utf8')).toBe('zero');
  expect(await readFile((await second).path, 'utf8')).toBe('one');
  expect(store.has(keys[2]!)).toBe(false);
  finish();
  expect(await readFile((await third).path, 'utf8')).toBe('two');
});

test('a failed production fails its waiters, leaves nothing, and is tried again', async () => {
  const failing: Producer = async ({ temporaryPath }) => {
    await writeFile(temporaryPath(), 'half');
    throw new Error('no');
  };
  await expect(store.get(keyOf('0.m4s'), failing)).rejects.toThrow('no');
  expect(store.has(keyOf('0.m4s'))).toBe(false);
  expect((await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'whole'))).sizeBytes).toBe(5);
});

test('a production that does not commit what it promised is an error, not a hang', async () => {
  await expect(store.get(keyOf('0.m4s'), async () => {})).rejects.toThrow('without committing');
  await expect(store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), ''))).rejects.toThrow();
});

test('a full disk makes room and asks to come back', async () => {
  for (const file of ['0.m4s', '1.m4s']) await store.get(keyOf(file), producing(keyOf(file), Buffer.alloc(1000, file)));
  nowMs += 11_000;
  const full: Producer = () => Promise.reject(Object.assign(new Error('write failed'), { code: 'ENOSPC' }));
  const error = await store.get(keyOf('2.m4s'), full).catch((refusal: unknown) => refusal);
  expect(isKinoraError(error, 'unavailable')).toBe(true);
  expect([store.has(keyOf('0.m4s')), store.has(keyOf('1.m4s'))]).toEqual([false, true]);
});

test('least recently used files go first, files in use stay', async () => {
  await store.stop();
  store = await openStore(10_000);
  const put = (file: string) => store.get(keyOf(file), producing(keyOf(file), Buffer.alloc(1000, file)));
  for (let number = 0; number < 10; number++) {
    await put(`${number}.m4s`);
    nowMs += 1000;
  }
  nowMs += 20_000;
  await store.get(keyOf('0.m4s'), never);
  await put('10.m4s');
  // Eviction continues after the caller was served; stopping waits for it.
  await store.stop();
  const kept = Array.from({ length: 11 }, (_, number) => number).filter((number) => store.has(keyOf(`${number}.m4s`)));
  // 11,000 bytes are brought down to 9,500 or less: the two oldest uses were 1 and 2.
  expect(kept).toEqual([0, 3, 4, 5, 6, 7, 8, 9, 10]);
  const files = await readdir(join(dir, 'As', assetId, '1', '720p'));
  expect(files).toHaveLength(9);
});

test('files that were just given out are not evicted, even above the bound', async () => {
  await store.stop();
  store = await openStore(1500);
  for (const file of ['0.m4s', '1.m4s']) await store.get(keyOf(file), producing(keyOf(file), Buffer.alloc(1000, file)));
  expect([store.has(keyOf('0.m4s')), store.has(keyOf('1.m4s'))]).toEqual([true, true]);
  nowMs += 11_000;
  await store.get(keyOf('2.m4s'), producing(keyOf('2.m4s'), 'x'));
  expect(store.has(keyOf('0.m4s'))).toBe(false);
});

test('a restart keeps the files, their validators and the order of use', async () => {
  const before = await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'kept'));
  const old = await store.get(keyOf('1.m4s'), producing(keyOf('1.m4s'), 'older'));
  await utimes(old.path, 1000, 1000);
  await writeFile(join(dir, 'tmp', 'left-over'), 'half');
  await store.stop();
  store = await openStore(8);
  expect(await readdir(join(dir, 'tmp'))).toEqual([]);
  expect(store.has(keyOf('1.m4s'))).toBe(false);
  expect(await store.get(keyOf('0.m4s'), never)).toEqual(before);
});

test.each([
  ['cut short', (path: string) => truncate(path, 2)],
  ['emptied', (path: string) => truncate(path, 0)],
  ['zeroed at its full length', (path: string) => writeFile(path, Buffer.alloc(5))],
])('a file that a power loss left %s is made again', async (_, damage) => {
  const { path } = await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'bytes'));
  await store.stop();
  await damage(path);
  store = await openStore();
  const { path: again } = await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'bytes'));
  expect(await readFile(again, 'utf8')).toBe('bytes');
});

test('a cache directory emptied by hand is filled again', async () => {
  await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'bytes'));
  await rm(join(dir, 'As'), { recursive: true });
  expect((await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'bytes'))).sizeBytes).toBe(5);
});

test('removing an asset ends its productions and leaves other assets alone', async () => {
  const other = `B${assetId.slice(1)}`;
  await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'bytes'));
  await store.get(keyOf('0.m4s', other), producing(keyOf('0.m4s', other), 'bytes'));
  let outcome: unknown;
  let start = () => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const stubborn: Producer = async (production) => {
    start();
    await once(production.signal, 'abort');
    outcome = await production.commit(keyOf('1.m4s'), Buffer.from('late')).catch((error: unknown) => error);
  };
  const waiting = store.get(keyOf('1.m4s'), stubborn).catch((error: unknown) => error);
  await started;
  await store.removeAsset(assetId);
  expect(isKinoraError(await waiting, 'not_found')).toBe(true);
  await store.stop();
  expect(isKinoraError(outcome, 'not_found')).toBe(true);
  expect(store.has(keyOf('0.m4s'))).toBe(false);
  expect(store.has(keyOf('0.m4s', other))).toBe(true);
  expect(await readdir(join(dir, 'As'))).toEqual([]);
});

test('removing a rendition ends its productions and leaves the others of the asset alone', async () => {
  const of = (rendition: string, file: string): CacheKey => ({ ...keyOf(file), rendition });
  for (const rendition of ['audio-A', 'audio-AB', 'audio'])
    await store.get(of(rendition, '0.m4s'), producing(of(rendition, '0.m4s'), 'bytes'));
  const late = manual(of('audio-A', '1.m4s'));
  const spared = manual(of('audio', '1.m4s'));
  const waiting = store.get(of('audio-A', '1.m4s'), late.producer).catch((error: unknown) => error);
  const other = store.get(of('audio', '1.m4s'), spared.producer);
  await Promise.all([late.state.started, spared.state.started]);
  await store.removeRendition(assetId, 'audio-A');
  expect(isKinoraError(await waiting, 'not_found')).toBe(true);
  spared.state.open();
  expect((await other).sizeBytes).toBe(5);
  const left = ['audio-A', 'audio-AB', 'audio'].filter((rendition) => store.has(of(rendition, '0.m4s')));
  expect(left).toEqual(['audio-AB', 'audio']);
  expect(await readdir(join(dir, 'As', assetId, '1', 'audio-A'))).toEqual([]);
  expect(store.totalBytes).toBe(15);
});

test('what a plan made is removed while a viewer waits for the rung of a broadcast', async () => {
  const live = { ...keyOf('1.m4s'), rendition: liveRendition('270p') };
  const [ofPlan, ofBroadcast] = [manual(keyOf('1.m4s')), manual(live)];
  await store.get(keyOf('0.m4s'), producing(keyOf('0.m4s'), 'made'));
  const ended = store.get(keyOf('1.m4s'), ofPlan.producer).catch((error: unknown) => error);
  const waiting = store.get(live, ofBroadcast.producer);
  await Promise.all([ofPlan.state.started, ofBroadcast.state.started]);
  const producer = { warm: () => Promise.resolve() };
  const first = new FirstSegments({ assetId, producer, cache: store, signal: new AbortController().signal }, undefined);
  await first.discard('another plan');
  expect(isKinoraError(await ended, 'not_found')).toBe(true);
  expect(store.has(keyOf('0.m4s'))).toBe(false);
  ofBroadcast.state.open();
  expect(await readFile((await waiting).path, 'utf8')).toBe('bytes');
});

test('keys that could leave the cache directory are refused', async () => {
  for (const file of ['../x', '..', 'a/b', '']) await expect(store.get(keyOf(file), never)).rejects.toThrow('unsafe');
});

test('a stopped store refuses new work', async () => {
  await store.stop();
  const error = await store.get(keyOf('0.m4s'), never).catch((refusal: unknown) => refusal);
  expect(isKinoraError(error, 'unavailable')).toBe(true);
});

test('killed in the middle of commits, nothing half-made is ever seen again', async () => {
  await store.stop();
  const child = spawn(process.execPath, ['test/integration/cache/committing-process.mjs', dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const committed = await killAfter(child, 40);
  store = await SegmentStore.open({ dir, maxBytes: 1e9, logger: quiet, clock: systemClock });
  for (const file of committed) {
    const { path, sizeBytes } = await store.get(keyOf(file), never);
    const bytes = await readFile(path);
    expect(bytes.length).toBe(sizeBytes);
    expect(bytes.equals(Buffer.alloc(300_000, Number.parseInt(file, 10) % 256))).toBe(true);
  }
  for (const name of await readdir(join(dir, 'As', assetId, '1', '720p'))) {
    expect((await stat(join(dir, 'As', assetId, '1', '720p', name))).size).toBe(300_000);
  }
});

/** Kills the child when it has reported `count` commits; gives the files reported until then. */
const killAfter = async (child: ChildProcess, count: number): Promise<string[]> => {
  const files: string[] = [];
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout! })) {
    files.push(line);
    if (files.length === count) child.kill('SIGKILL');
  }
  await exited;
  expect(files.length).toBeGreaterThanOrEqual(count);
  return files;
};

test('an asset is removed while its files are written, and nothing of it stays', async () => {
  for (let round = 0; round < 10; round++) {
    let commits = 0;
    const first = keyOf('0.m4s');
    const busy: Producer = async (production) => {
      // Finishes what it does although nobody wants it any more, as a process does that is told too
      // late.
      for (let number = 1; number <= 300; number++) {
        await production.commit(keyOf(`${number}.m4s`), Buffer.from('bytes')).catch(() => undefined);
        commits++;
      }
    };
    const waiting = expect(store.get(first, busy)).rejects.toMatchObject({ code: 'not_found' });
    await expect.poll(() => commits, { interval: 1 }).toBeGreaterThan(20 * round);
    await store.removeAsset(assetId);
    await waiting;
    expect(store.totalBytes).toBe(0);
    expect(await readdir(join(dir, assetId.slice(0, 2)))).toEqual([]);
  }
});
