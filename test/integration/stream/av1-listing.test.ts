/** From the views of an asset to its AV1 ladder in the playlist, and what that saves. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { findAv1State } from '#kinora/db/tables/playback/av1.js';
import { readAv1Savings } from '#kinora/domain/usage/av1-savings.js';
import { WatchedSearch } from '#kinora/jobs/find-watched.js';
import { createAv1Worker, mostWatched } from '#kinora/jobs/prepare-av1.js';
import { systemClock } from '#kinora/lib/clock.js';
import { KinoraError } from '#kinora/lib/errors.js';
import { planAv1 } from '#kinora/media/plan/av1-ladder.js';
import { GENERATION } from '#kinora/media/plan/generation.js';
import type { Job, Queue, QueueWorker } from '#kinora/queue/queue.js';
import { fixture } from '../../support/media/fixtures.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;

beforeAll(async () => {
  source = await planFile(await fixture('h264-aac.mp4'));
  server = await startPlayback({ av1After: 1 });
  asset = await server.addAsset(source);
  const known = { duration_seconds: source.plan.durationSeconds, resolution_tier: '720p' };
  await server.database.queryable.updateTable('asset').set(known).where('id', '=', asset.assetId).execute();
});
afterAll(() => server?.stop());

const get = async (path: string): Promise<Buffer> => {
  const response = await fetch(`${server.origin}/${path}`);
  expect([path, response.status]).toEqual([path, 200]);
  return Buffer.from(await response.arrayBuffer());
};
/** The names of the AV1 rungs in the playlist. */
const listed = async (): Promise<string[]> => {
  server.playables.forget(asset.assetId);
  const text = String(await get(`${asset.publicId}.m3u8`));
  return Array.from(text.matchAll(/\/(av1-[^/]*)\/playlist/g), ([, name]) => name!);
};
/** Plays a rendition once; returns its bytes. */
const watch = async (rendition: string): Promise<number> => {
  let bytes = 0;
  for (let number = 0; number < source.video.boundaries.length - 1; number += 1)
    bytes += (await get(`${asset.publicId}/${GENERATION}/${rendition}/${number}.m4s`)).length;
  return bytes;
};
/** What one search has prepared. */
const search = async (): Promise<string[]> => {
  const found: string[] = [];
  const queue = { enqueue: async (_: unknown, payload: { assetId: string }) => String(found.push(payload.assetId)) };
  const { database, logger } = server;
  const searching = new WatchedSearch({
    ...{ database, logger, clock: systemClock, factor: 1 },
    queue: queue as unknown as Queue,
    intervalMs: 1e6,
  });
  await searching.stop();
  return found;
};
const run = (worker: QueueWorker, signal = new AbortController().signal): Promise<void> =>
  worker.handler({ payload: { assetId: asset.assetId } } as unknown as Job<never>, { signal });
const stateOf = async () => (await findAv1State(server.database.queryable, asset.assetId))!.av1_state;

test('a watched asset gets its whole ladder, prepared with the least priority', async () => {
  const h264 = source.video.renditions[0]!.name;
  const rungs = planAv1(source.video).map(({ name }) => name);
  await watch(h264);
  expect(await search()).toEqual([]);
  await watch(h264);
  await vi.waitFor(async () => expect(await search()).toEqual([asset.assetId]));

  const { database, logger } = server;
  const deps = { database, logger, clock: systemClock };
  const made: string[] = [];
  let stopped: AbortController | undefined = new AbortController();
  const worker = createAv1Worker({
    ...deps,
    producer: {
      segment: async (...of) => {
        expect(await listed()).toEqual([]);
        made.push(`${of[1]}/${of[2]}`);
        if (made.length === 3) stopped?.abort(new Error('stopped'));
        return server.segments.segment(...of);
      },
    },
  });
  await expect(run(worker, stopped.signal)).rejects.toThrow();
  expect(await stateOf()).toBeNull();
  // What was made is found by the next run.
  const key = { assetId: asset.assetId, plan: GENERATION, rendition: made[0]!.split('/')[0]!, file: 'init.mp4' };
  expect(server.store.has(key)).toBe(true);
  stopped = undefined;
  await run(worker);
  expect(new Set(made.map((path) => path.split('/')[0]))).toEqual(new Set(rungs));
  expect(new Set(await listed())).toEqual(new Set(rungs));
  expect(await search()).toEqual([]);

  const bytes = await watch(rungs[0]!);
  const savings = () => readAv1Savings(database.queryable, systemClock, asset.assetId);
  await vi.waitFor(async () => expect((await savings()).bytes).toBe(bytes));
  expect((await savings()).seconds).toBeCloseTo(source.plan.durationSeconds, 3);
  const h264Bytes = await watch(h264);
  expect((await savings()).savedBytes).toBeCloseTo(Math.max(h264Bytes - bytes, 0), -2);
});

test('its owner decides', async () => {
  const set = (av1: string) => server.sdk().patch(`/video/v1/assets/${asset.assetId}`, { body: { av1 } });
  expect(await set('never')).toMatchObject({ data: { av1: 'never' } });
  expect(await listed()).toEqual([]);
  await server.database.queryable.updateTable('asset').set({ av1_state: null }).execute();
  await set('always');
  expect((await listed()).length).toBe(source.video.renditions.length);
  expect(await search()).toEqual([]);
  await set('auto');
  expect(await listed()).toEqual([]);
});

test('a segment that can not be made leaves the ladder out', async () => {
  expect(await search()).toEqual([asset.assetId]);
  const { database, logger } = server;
  const producer = { segment: () => Promise.reject(new KinoraError('media_failed')) };
  const worker = createAv1Worker({ database, logger, clock: systemClock, producer });
  await expect(run(worker)).rejects.toThrow();
  await worker.onFailed!({ payload: { assetId: asset.assetId } } as unknown as Job<never>, new Error('failed'));
  expect([await stateOf(), await listed(), await search()]).toEqual(['failed', [], []]);
});

test('what is watched most is made first, and what nobody watches is not', () => {
  const video = { boundaries: [0, 5, 10, 15, 20, 25, 30], timescale: 1 };
  const watched = (...parts: number[]) => mostWatched(video, new Map(parts.map((seconds, part) => [part, seconds])));
  expect(watched(0, 0, 0)).toEqual([]);
  expect(watched(10, 0, 80)).toEqual([4, 5]);
  expect(watched(20, 30, 50)).toEqual([4, 5, 2, 3]);
});
