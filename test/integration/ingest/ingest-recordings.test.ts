import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { validateCreateAsset } from '#kinora/api/validate/create-asset.js';
import { wireFormat } from '#kinora/api/wire-format.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { findAssetById } from '#kinora/db/tables/assets/asset.js';
import { createAsset } from '#kinora/domain/assets/create-asset.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { noLiveControl } from '#kinora/domain/live/live-control.js';
import { LiveStates } from '#kinora/domain/live/live-states.js';
import { ArtifactUrls } from '#kinora/domain/signing/artifact-urls.js';
import { systemClock } from '#kinora/lib/clock.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { sourceKey } from '#kinora/storage/keys.js';
import { quietLogger } from '../../support/logger.js';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import { until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';

// The end of a broadcast is stored, and the server stops before it has planned the recording.

let server: Booted | undefined;
let dataDir = '';
afterAll(async () => {
  await server?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const call = async (method: string, path: string, body?: object) =>
  (await (await api(server!, method, path, body)).json()).data;

/** The assets of two broadcasts, one of a file, one of nothing, and a clip of the first one. */
const broadcast = async (streamIds: readonly string[], file: string): Promise<string[]> => {
  const database = await openDatabase({ dataDir, logger: quietLogger });
  const context: DomainContext = {
    ...{ database, queue: createQueue(database), clock: systemClock, wire: wireFormat, sourceBuckets: [] },
    ...{ recognizesSpeech: false, assetHook: undefined, live: { ...noLiveControl, recordedSeconds: async () => 1 } },
    artifactUrls: new ArtifactUrls('secret', () => 'http://127.0.0.1'),
    apiUrl: () => 'http://127.0.0.1',
    onAssetDeleted: () => undefined,
    onPlayableChanged: () => undefined,
    onPlaybackIdDeleted: () => undefined,
    onSigningKeyDeleted: () => undefined,
    onPlaybackRestrictionChanged: () => undefined,
    onPublicRestrictionChanged: () => undefined,
    onBudgetChanged: () => undefined,
  };
  const states = new LiveStates(context);
  const clipIds: string[] = [];
  const assetIds: string[] = [];
  for (const [index, id] of streamIds.entries()) {
    await states.connected(id, 'rtmp');
    const { assetId } = (await states.recording(id, { startedAt: systemClock.now() }))!;
    await states.active(id, { durationSeconds: 1, video: { width: 320, height: 180, frameRate: 30 } });
    if (index === 0) {
      const target = join(dataDir, 'blobs', sourceKey(assetId));
      await mkdir(dirname(target), { recursive: true });
      await copyFile(file, target);
      const inputs = [{ url: `mux://assets/${assetId}`, start_time: 0.2, end_time: 3 }];
      const { environment_id: environmentId } = (await findAssetById(database.queryable, assetId))!;
      const { asset } = await createAsset(context, environmentId, validateCreateAsset({ inputs }, 'basic'));
      clipIds.push(asset.id);
    }
    await states.ended(id, { durationSeconds: 1, recordingTimes: [], nextSequence: 1, nextDiscontinuity: 0 });
    assetIds.push(assetId);
  }
  await database.close();
  return [...assetIds, ...clipIds];
};

it('plans a recording after a restart, then its clips, and says why one can not be planned', async () => {
  dataDir = await makeTestDataDir();
  server = await boot({ dataDir });
  const { token } = server;
  const streams = [];
  for (let count = 0; count < 2; count++)
    streams.push((await call('POST', '/video/v1/live-streams', { playback_policies: ['public'], test: true })).id);
  await server.stop();
  const [recorded, empty, clip] = await broadcast(streams, await fixture('h264-aac.mp4'));
  server = await boot({ dataDir, token });
  const read = (id: string) => call('GET', `/video/v1/assets/${id}`);
  await until('the recording is planned', async () => (await read(recorded!)).progress.state === 'completed');
  const asset = await read(recorded!);
  expect(asset).toMatchObject({
    status: 'ready',
    is_live: false,
    test: true,
    tracks: [{ type: 'video' }, { type: 'audio' }],
  });
  expect(asset.duration).toBeGreaterThan(1);
  expect(await eventTypes(server, recorded!)).toEqual(['created', 'ready', 'live_stream_completed']);
  await until('the clip is ready', async () => (await read(clip!)).status === 'ready');
  expect(await read(clip!)).toMatchObject({ ingest_type: 'on_demand_clip', source_asset_id: recorded, duration: 0.8 });
  await until('the other one fails', async () => (await read(empty!)).status === 'errored');
  expect((await read(empty!)).errors).toEqual({
    type: 'invalid_input',
    messages: ['The broadcast ended before anything was recorded.'],
  });
  expect(await eventTypes(server, empty!)).toEqual(['created', 'ready', 'errored']);
});
