import { newId } from '#kinora/lib/ids.js';
import { fixture } from '../media/fixtures.js';
import { FakeBroadcast, FakeFeeds } from './fake-broadcast.js';
import { startPlayback } from './playback.js';

/** Playback IDs of one object. */
interface OnAirIds {
  readonly publicId: string;
  readonly signedId: string;
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

/** A server on which tests put broadcasts. */
export const startLivePlayback = async () => {
  const feeds = new FakeFeeds();
  const server = await startPlayback({ feeds });
  const db = server.database.queryable;
  const broadcasts: FakeBroadcast[] = [];

  const addIds = async (owner: { asset_id: string } | { live_stream_id: string }): Promise<OnAirIds> => {
    const environment_id = await environmentId();
    const ids = { publicId: newId(), signedId: newId() };
    const row = { environment_id, asset_id: null, live_stream_id: null, ...owner };
    await db
      .insertInto('playback_id')
      .values([
        { ...row, id: ids.publicId, policy: 'public' },
        { ...row, id: ids.signedId, policy: 'signed' },
      ])
      .execute();
    return ids;
  };
  const environmentId = async (): Promise<string> =>
    (await db.selectFrom('environment').select('id').executeTakeFirstOrThrow()).id;

  return {
    server,
    feeds,
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
