import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { SegmentStore } from '#kinora/cache/segment-store.js';
import type { LiveFeed } from '#kinora/domain/playback/live-feed.js';
import { type Clock, systemClock } from '#kinora/lib/clock.js';
import { LiveRungs } from '#kinora/live/rungs/live-rungs.js';
import { MediaPool } from '#kinora/pool/media-pool.js';
import { quietLogger } from '../../support/logger.js';
import { type FakeFeedOptions, FakeLiveFeed, FIRST_SEGMENT } from '../../support/media/fake-live-feed.js';
import type { EncodedName } from '../../support/media/fixtures.js';
import { readFrameCounters, readPackets } from '../../support/media/measure.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const LONG = { timeoutMs: 100_000, signal: new AbortController().signal };

interface StartOptions extends FakeFeedOptions {
  readonly isTest?: boolean;
  readonly maxRungs?: number;
  readonly clock?: Clock;
}

const start = async (
  name: EncodedName,
  { isTest = false, maxRungs = 4, clock = systemClock, ...fake }: StartOptions = {},
) => {
  const dir = await mkdtemp(join(tmpdir(), 'kinora-rungs-'));
  closers.push(() => rm(dir, { recursive: true, force: true }));
  const store = await SegmentStore.open({
    dir,
    maxBytes: 2 ** 30,
    hotBytes: 0,
    logger: quietLogger,
    clock,
  });
  closers.push(() => store.stop());
  const temporaryDir = join(dir, 'tmp');
  const shared = { logger: quietLogger, clock };
  const pool = await MediaPool.start({
    size: 2,
    readDirs: [],
    writeDir: temporaryDir,
    memoryBytes: 2 ** 31,
    levels: ['none'],
    ...shared,
  });
  closers.push(() => pool.stop());
  const rungs = new LiveRungs({ pool, store, temporaryDir, maxRungs, ...shared });
  closers.push(() => rungs.stop());
  const recording = await FakeLiveFeed.open(name, fake);
  recording.grow(3);
  const feed = await rungs.open(recording, { isTest });
  return { recording, feed, rungs, dir, temporaryDir };
};

const lastOf = (feed: LiveFeed, name: string) => feed.track(name)!.segments.at(-1);

/** All segments of a rung, as a viewer reads them. */
const readAll = async (feed: LiveFeed, name: string): Promise<Uint8Array[]> => {
  const bytes: Uint8Array[] = [feed.init(name, 0)!];
  for (const { number } of feed.track(name)!.segments) bytes.push((await feed.read(name, number))!);
  return bytes;
};
const partCounts = (feed: LiveFeed, name: string): number[] =>
  feed.track(name)!.segments.map(({ parts }) => parts.length);
const countersOf = (bytes: Uint8Array[]): number[] => readFrameCounters(bytes).map(({ counter }) => counter);
const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

/** Lets the broadcast go on to its end, no faster than its rungs are encoded. */
const playOut = async ({ recording, feed }: { recording: FakeLiveFeed; feed: LiveFeed }, names: string[]) => {
  for (;;) {
    const before = lastOf(recording, recording.trackNames[0]!)!;
    recording.grow(3);
    const last = lastOf(recording, recording.trackNames[0]!)!;
    if (last.number === before.number && last.parts.length === before.parts.length) break;
    for (const name of names) expect(await feed.waitFor(name, before.number, before.parts.length - 1, LONG)).toBe(true);
  }
  recording.end();
  const { number } = lastOf(recording, recording.trackNames[0]!)!;
  for (const name of names) expect(await feed.waitFor(name, number + 1, undefined, LONG)).toBe(true);
};

/** The processes of this test's pool. */
const mediaProcesses = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ')[1];
        return (
          Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('engine/start.js')
        );
      } catch {
        return false;
      }
    });

describe('rungs of a broadcast', () => {
  it('are encoded with the parts of the recording while somebody watches', async () => {
    const { recording, feed } = await start('live-480p.mp4');
    expect(feed.trackNames).toEqual(['480p', '360p', '270p']);
    expect(feed.track('270p')!.segments).toEqual([]);
    expect(await feed.waitFor('270p', FIRST_SEGMENT, 0, LONG)).toBe(true);
    recording.grow(9);
    expect(await feed.waitFor('360p', FIRST_SEGMENT + 1, undefined, LONG)).toBe(true);
    await playOut({ recording, feed }, ['270p', '360p']);
    const copied = feed.track('480p')!.segments;
    for (const name of ['270p', '360p']) {
      const { segments, ended } = feed.track(name)!;
      expect(ended).toBe(true);
      const boundaries = segments.map(({ number, startTicks, durationTicks }) => [number, startTicks, durationTicks]);
      expect(boundaries).toEqual(copied.map((each) => [each.number, each.startTicks, each.durationTicks]));
      const bytes = await readAll(feed, name);
      expect(countersOf(bytes)).toEqual(numbers(0, 720));
      const keys = readPackets(bytes).filter(({ keyFrame }) => keyFrame);
      expect(keys.map(({ ptsSeconds }) => Math.round(ptsSeconds * 90_000))).toEqual(boundaries.map((each) => each[1]));
    }
    expect(partCounts(feed, '270p')).toEqual(Array(12).fill(6));
  });

  it('have segments that nobody watched, made on request', async () => {
    const { recording, feed } = await start('live-480p.mp4');
    recording.grow(100);
    const [first] = feed.track('270p')!.segments;
    expect(first).toMatchObject({ number: FIRST_SEGMENT, parts: [], complete: true });
    const bytes = await feed.read('270p', FIRST_SEGMENT + 2);
    expect(countersOf([feed.init('270p', 0)!, bytes!])).toEqual(numbers(120, 60));
  });

  it('leave nothing in the cache when nobody asks for them any more', async () => {
    const { recording, feed, rungs, dir } = await start('live-480p.mp4');
    const cached = (): string[] =>
      readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('/live-270p/'));
    recording.grow(100);
    recording.end();
    const bytes = await feed.read('270p', FIRST_SEGMENT);
    expect(cached()).toHaveLength(1);
    await rungs.end(feed);
    expect(Buffer.from((await feed.read('270p', FIRST_SEGMENT))!).equals(bytes!)).toBe(true);
    await rungs.close(feed);
    expect(cached()).toEqual([]);
    // What a process leaves that was killed.
    await feed.read('270p', FIRST_SEGMENT);
    await rungs.sweep((assetId) => assetId === feed.assetId);
    expect(cached()).toHaveLength(1);
    await rungs.sweep(() => false);
    expect(cached()).toEqual([]);
  });

  it('go on in the same segment after their process was killed', async () => {
    const { recording, feed } = await start('live-480p.mp4');
    expect(await feed.waitFor('270p', FIRST_SEGMENT, 0, LONG)).toBe(true);
    recording.grow(5);
    expect(await feed.waitFor('270p', FIRST_SEGMENT + 1, 0, LONG)).toBe(true);
    for (const pid of mediaProcesses()) process.kill(pid, 'SIGKILL');
    recording.grow(4);
    expect(await feed.waitFor('270p', FIRST_SEGMENT + 1, 4, LONG)).toBe(true);
    await playOut({ recording, feed }, ['270p']);
    expect(countersOf(await readAll(feed, '270p'))).toEqual(numbers(0, 720));
    expect(partCounts(feed, '270p')).toEqual(Array(12).fill(6));
  });

  it('are encoded for a viewer who has to wait for a long time', async () => {
    let lateMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + lateMs };
    const { recording, feed } = await start('live-480p.mp4', { clock });
    expect(await feed.waitFor('270p', FIRST_SEGMENT, 0, LONG)).toBe(true);
    const waiting = feed.waitFor('270p', FIRST_SEGMENT + 1, 5, LONG);
    lateMs = 30_000;
    recording.grow(9);
    expect(await waiting).toBe(true);
    expect(partCounts(feed, '270p')).toEqual([6, 6]);
  });

  it('lose no frame when their process stands still', async () => {
    const { recording, feed } = await start('live-480p.mp4');
    expect(await feed.waitFor('270p', FIRST_SEGMENT, 0, LONG)).toBe(true);
    const stopped = mediaProcesses();
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    for (let parts = 0; parts < 15; parts += 1) {
      recording.grow(1);
      await sleep(333);
    }
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
    expect(await feed.waitFor('270p', lastOf(recording, '480p')!.number, 1, LONG)).toBe(true);
    await playOut({ recording, feed }, ['270p']);
    expect(countersOf(await readAll(feed, '270p'))).toEqual(numbers(0, 720));
  });

  it('begin with one of the full size when the recording is HEVC, which is one more variant', async () => {
    const { recording, feed } = await start('hevc-480p.mp4', { maxRungs: 1 });
    expect(feed.trackNames).toEqual(['480p', '480p-hevc']);
    expect(await feed.waitFor('480p', FIRST_SEGMENT, 0, LONG)).toBe(true);
    await playOut({ recording, feed }, ['480p']);
    expect(countersOf(await readAll(feed, '480p'))).toEqual(numbers(0, 180));
    expect(await feed.read('480p-hevc', FIRST_SEGMENT)).toEqual(await recording.read('480p', FIRST_SEGMENT));
  });

  it('replace the recording from the first segment on that begins without a key frame', async () => {
    const { recording, feed } = await start('live-480p.mp4', { maxRungs: 0, halfGops: true });
    expect(feed.trackNames).toEqual(['480p']);
    expect(lastOf(feed, '480p')).toMatchObject({ number: FIRST_SEGMENT, config: 0, complete: true });
    recording.grow(1);
    expect(lastOf(recording, '480p')).toMatchObject({ number: FIRST_SEGMENT + 1, independent: false });
    // Players do not see it before it is encoded.
    expect(lastOf(feed, '480p')!.number).toBe(FIRST_SEGMENT);
    recording.grow(1);
    expect(await feed.waitFor('480p', FIRST_SEGMENT + 1, 0, LONG)).toBe(true);
    recording.grow(19);
    recording.end();
    const { number } = lastOf(recording, '480p')!;
    expect(await feed.waitFor('480p', number + 1, undefined, LONG)).toBe(true);
    const { segments, ended } = feed.track('480p')!;
    expect(ended).toBe(true);
    expect(segments.every(({ independent }) => independent)).toBe(true);
    expect(segments.map(({ config }) => config)).toEqual(segments.map((_, index) => Math.min(index, 1)));
    expect(segments.map(({ startTicks }) => startTicks)).toEqual(recording.boundaries.slice(0, segments.length));
    expect(await feed.read('480p', FIRST_SEGMENT)).toEqual(await recording.read('480p', FIRST_SEGMENT));
    expect(feed.init('480p', 0)).toEqual(recording.init('480p', 0));
    const encoded = await Promise.all(segments.slice(1).map((segment) => feed.read('480p', segment.number)));
    const shown = countersOf([feed.init('480p', 1)!, ...encoded.map((bytes) => bytes!)]);
    expect(shown).toEqual(numbers(30, shown.length));
    expect(shown.length).toBe(segments.slice(1).reduce((sum, { durationTicks }) => sum + durationTicks / 3000, 0));
  });

  it('end with a recording that is suspended, and keep the server free', async () => {
    const { recording, feed, temporaryDir } = await start('live-480p.mp4');
    const [, name] = feed.trackNames;
    expect(await feed.waitFor(name!, FIRST_SEGMENT, 0, LONG)).toBe(true);
    recording.suspend();
    await expect.poll(() => readdirSync(temporaryDir)).toEqual([]);
  });

  it('are all there is of a test stream, with its mark', async () => {
    const { feed } = await start('live-480p.mp4', { isTest: true, maxRungs: 0 });
    expect(feed.trackNames).toEqual(['480p']);
    expect(await feed.waitFor('480p', FIRST_SEGMENT, 0, LONG)).toBe(true);
  });
});
