import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wireFormat } from '#kinora/api/wire-format.js';
import type { Database } from '#kinora/db/database.js';
import { warnFramesLost } from '#kinora/domain/assets/warn-frames-lost.js';
import { systemClock } from '#kinora/lib/clock.js';
import { GENERATION } from '#kinora/media/plan/generation.js';
import type { SegmentLoss } from '#kinora/media/plan/source-warnings.js';
import { fixture } from '../../support/media/fixtures.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { startPlayback } from '../../support/players/playback.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let told: { assetId: string; loss: SegmentLoss; isStored: boolean }[] = [];

beforeAll(async () => {
  server = await startPlayback({
    onFramesLost: async (assetId, loss) => {
      // Long enough for a commit that does not wait.
      await delay(300);
      told.push({ assetId, loss, isStored: server.store.has(keyOf(assetId)) });
    },
  });
  source = await planFile(await fixture('hevc-aac.mp4'));
});
afterAll(() => server?.stop());

const NUMBER = 1;
const keyOf = (assetId: string) => ({
  assetId,
  plan: GENERATION,
  rendition: source.video.renditions[0]!.name,
  file: `${NUMBER}.m4s`,
});

/** An asset whose plan counts `more` frames in the segment than the file has. */
const addAsset = (more: number, rendition = source.video.renditions[0]!) => {
  const frameCounts = source.video.frameCounts!.map((count, number) => (number === NUMBER ? count + more : count));
  const video = { ...source.video, frameCounts, renditions: [rendition] };
  return server.addAsset({ path: source.path, plan: { ...source.plan, video } });
};

const fetchSegment = async (publicId: string): Promise<number> => {
  const { rendition, file } = keyOf('');
  const response = await fetch(`${server.origin}/${publicId}/${GENERATION}/${rendition}/${file}`);
  expect(response.status).toBe(200);
  return (await response.arrayBuffer()).byteLength;
};

test('lost frames are told before the segment is stored, and once although it is encoded several times', async () => {
  told = [];
  const { boundaries, timescale, renditions } = source.video;
  const [fromSeconds, untilSeconds] = [boundaries[NUMBER]! / timescale, boundaries[NUMBER + 1]! / timescale];
  const usual = await fetchSegment((await addAsset(0)).publicId);
  expect(told).toEqual([]);
  const bandwidth = Math.floor((usual * 8 * 0.6) / (untilSeconds - fromSeconds));
  const { assetId, publicId } = await addAsset(2, { ...renditions[0]!, bandwidth });
  await fetchSegment(publicId);
  expect(server.logger.lines.some(({ message }) => message.includes('encoding again'))).toBe(true);
  expect(told).toEqual([{ assetId, loss: { frames: 2, fromSeconds, untilSeconds }, isStored: false }]);
});

test('frames that the source does not count are not lost', async () => {
  told = [];
  server.logger.lines.length = 0;
  await fetchSegment((await addAsset(-2)).publicId);
  expect(told).toEqual([]);
  const logged = server.logger.lines.find(({ message }) => message === 'segment frame count differs from plan');
  expect(logged?.fields.missing).toBe(-2);
});

const loss = { frames: 1, fromSeconds: 0, untilSeconds: 4 };

test('segments that are made at the same time give one warning', async () => {
  const { assetId } = await addAsset(0);
  const { database, clock } = server;
  const context = { database, clock, wire: wireFormat, logger: memoryLogger() };
  await Promise.all([1, 2, 3].map(() => warnFramesLost(context, assetId, loss)));
  const events = await server.database.queryable
    .selectFrom('event')
    .selectAll()
    .where('object_id', '=', assetId)
    .execute();
  expect(events.map(({ type }) => type)).toEqual(['video.asset.warning']);
  expect(context.logger.lines).toEqual([]);
});

test('what is lost before an asset is ready is kept for its ingest to tell', async () => {
  const { assetId } = await server.addAsset({ status: 'preparing' });
  const { database, clock } = server;
  await warnFramesLost({ database, clock, wire: wireFormat, logger: memoryLogger() }, assetId, loss);
  const db = database.queryable;
  expect(await db.selectFrom('event').selectAll().where('object_id', '=', assetId).execute()).toEqual([]);
  const asset = db.selectFrom('asset').select('frames_lost').where('id', '=', assetId);
  expect(await asset.executeTakeFirst()).toEqual({ frames_lost: expect.stringContaining('between 0 s and 4 s') });
});

test.each([
  ['fails', () => Promise.reject(new Error('Connection terminated')), 1],
  ['does not answer', () => new Promise<never>(() => undefined), 0],
] as const)('a viewer gets the segment while the database %s', async (_how, transaction, lines) => {
  const database = { transaction } as unknown as Database;
  const logger = memoryLogger();
  await warnFramesLost({ database, clock: systemClock, wire: wireFormat, logger }, 'asset', loss);
  expect(logger.lines).toHaveLength(lines);
});
