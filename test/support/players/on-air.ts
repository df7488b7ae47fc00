import { join } from 'node:path';
import { systemClock } from '#kinora/lib/clock.js';
import { newId } from '#kinora/lib/ids.js';
import { RecordedStills } from '#kinora/live/rungs/recorded-stills.js';
import type { MediaJob } from '#kinora/pool/protocol.js';
import { fixture } from '../media/fixtures.js';
import { FakeBroadcast, FakeFeeds } from './fake-broadcast.js';
import { startPlayback } from './playback.js';

/** Playback IDs of one object. */
interface OnAirIds {
  readonly publicId: string;
  readonly signedId: string;
  readonly drmId: string;
}

export interface OnAir {
  readonly assetId: string;
  readonly liveStreamId: string;
  readonly broadcast: FakeBroadcast;
  readonly stream: OnAirIds;
  readonly asset: OnAirIds;
  /** Ends the minute after the end. */
  takeOff(): void;
}

const FILTERS = {
  deinterlace: false,
  color: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' },
  rotation: 0,
  flipHorizontal: false,
  testMark: false,
} as const;

/** A server on which tests put broadcasts. */
export const startLivePlayback = async () => {
  const feeds = new FakeFeeds();
  const server = await startPlayback({ feeds });
  const db = server.database.queryable;
  const broadcasts: FakeBroadcast[] = [];
  /** Media jobs for images of what is on air. */
  const stillJobs: MediaJob[] = [];

  const addIds = async (owner: { asset_id: string } | { live_stream_id: string }): Promise<OnAirIds> => {
    const environment_id = await environmentId();
    const ids = { publicId: newId(), signedId: newId(), drmId: newId() };
    const row = { environment_id, asset_id: null, live_stream_id: null, ...owner };
    await db
      .insertInto('playback_id')
      .values([
        { ...row, id: ids.publicId, policy: 'public' },
        { ...row, id: ids.signedId, policy: 'signed' },
        { ...row, id: ids.drmId, policy: 'drm', drm_configuration_id: await drmConfigurationId() },
      ])
      .execute();
    return ids;
  };
  const environmentId = async (): Promise<string> =>
    (await db.selectFrom('environment').select('id').executeTakeFirstOrThrow()).id;
  const drmConfigurationId = async (): Promise<string> =>
    (await db.selectFrom('drm_configuration').select('id').executeTakeFirstOrThrow()).id;

  return {
    server,
    feeds,
    stillJobs,
    /** A live stream that nobody sends to. */
    async addStream(): Promise<{ readonly liveStreamId: string; readonly stream: OnAirIds }> {
      const liveStreamId = newId();
      await db
        .insertInto('live_stream')
        .values({
          id: liveStreamId,
          environment_id: await environmentId(),
          stream_key: newId(),
          stream_key_hash: newId(),
          srt_passphrase: 'passphrase',
          latency_mode: 'low',
          use_slate_for_standard_latency: false,
          max_continuous_duration: 43_200,
          audio_only: false,
          is_test: false,
          meta: JSON.stringify({ title: 'Harbor live' }),
        })
        .execute();
      return { liveStreamId, stream: await addIds({ live_stream_id: liveStreamId }) };
    },
    /** Puts twenty seconds on air, of which nothing has been sent yet. */
    async goOnAir(
      { liveStreamId, stream }: { readonly liveStreamId: string; readonly stream: OnAirIds },
      options: Omit<Parameters<typeof FakeBroadcast.open>[1], 'assetId'> = {},
    ): Promise<OnAir> {
      const { assetId, ...asset } = await server.addAsset({ status: 'preparing' });
      await db
        .updateTable('asset')
        .set({ status: 'ready', is_live: true, live_stream_id: liveStreamId })
        .where('id', '=', assetId)
        .execute();
      const broadcast = await FakeBroadcast.open(await fixture('long.mp4'), { assetId, ...options });
      const pool: Pick<typeof server.pool, 'run'> = {
        run: (job, settings) => {
          stillJobs.push(job);
          return server.pool.run(job, settings);
        },
      };
      broadcast.stills = new RecordedStills(
        { pool, temporaryDir: join(server.cacheDir, 'tmp'), clock: systemClock },
        { feed: broadcast, copyName: '180p', filters: FILTERS, size: { width: 320, height: 180 } },
      );
      broadcasts.push(broadcast);
      feeds.assets.set(assetId, broadcast);
      feeds.streams.set(liveStreamId, broadcast);
      const takeOff = (): void => {
        feeds.assets.delete(assetId);
        feeds.streams.delete(liveStreamId);
      };
      return { assetId, liveStreamId, broadcast, stream, asset, takeOff };
    },
    async stop(): Promise<void> {
      for (const broadcast of broadcasts) broadcast.end();
      await server.stop();
    },
  };
};
