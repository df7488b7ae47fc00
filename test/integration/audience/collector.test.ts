import { expect, it } from 'vitest';
import { ViewCollector } from '#kinora/audience/beacons/view-collector.js';
import { sumUpViews } from '#kinora/audience/sum-up-views.js';
import { endSilentViews } from '#kinora/audience/tables/view-sums.js';
import type { Database } from '#kinora/db/database.js';
import type { Row } from '#kinora/db/schema.js';
import { insertEnvironment } from '#kinora/db/tables/server/environment.js';
import { systemClock } from '#kinora/lib/clock.js';
import { newId, newShortId, newUuid } from '#kinora/lib/ids.js';
import { Metrics } from '#kinora/telemetry/metrics.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { quietLogger } from '../../support/logger.js';
import { beaconOf, type EventFields, ReportingPlayer } from '../../support/wire/beacons.js';

const noOrigin = { userAgent: undefined, country: undefined };

describeOnBothEngines('reports of views', (database) => {
  const newEnvironment = async (): Promise<string> => {
    const id = newShortId();
    await insertEnvironment(database().queryable, { id, name: `environment ${id}`, type: 'production' });
    return id;
  };
  const startCollector = (db = database()): ViewCollector =>
    new ViewCollector({
      ...{ database: db, clock: systemClock, logger: quietLogger, metrics: new Metrics() },
      writeMs: 1_000_000,
    });
  const report = (collector: ViewCollector, ...events: EventFields[]): Promise<void> =>
    collector.receive(Buffer.from(beaconOf(events)), noOrigin);
  const listViews = (environmentId: string): Promise<Row<'video_view'>[]> => readViews(database(), environmentId);

  it('become one row, whichever servers they reach', async () => {
    const environmentId = await newEnvironment();
    const [first, second] = [startCollector(), startCollector()];
    const player = new ReportingPlayer(environmentId, newUuid());
    const startMs = Date.now() - 20_000;
    const at = (ms: number) => ({ viewer_time: startMs + ms, player_playhead_time: ms });
    await report(
      first,
      player.event('viewstart', { ...at(0), view_start: startMs, video_title: 'A film', player_width: 640 }),
    );
    await first.write();
    const playing = player.event('playing', { ...at(300), view_time_to_first_frame: 300, view_watch_time: 300 });
    const heartbeat = player.event('hb', {
      ...at(10_000),
      view_watch_time: 10_000,
      video_playback_range: '["0:9700"]',
    });
    const seeking = player.event('seeking', {
      ...at(12_000),
      view_watch_time: 12_000,
      view_seek_count: 1,
      video_playback_range: '["0:11700"]',
    });
    const end = player.event('viewend', {
      ...at(15_000),
      view_start: startMs,
      view_watch_time: 15_000,
      video_playback_range: '["0:11700","40000:43000"]',
      video_title: 'A renamed film',
    });
    // The second server has the newest, and writes first.
    await report(second, playing, seeking);
    await report(second, end);
    await second.write();
    await report(first, heartbeat);
    await first.write();
    const [view, ...others] = await listViews(environmentId);
    expect(others).toEqual([]);
    expect(view).toMatchObject({
      id: player.viewId,
      started_at: new Date(startMs),
      watch_time: 15_000,
      video_startup_time: 300,
      seek_count: 1,
      ranges: [
        [0, 11_700],
        [40_000, 43_000],
      ],
      dimensions: { video_title: 'A renamed film' },
      details: { player_width: 640 },
      is_playback_failure: false,
    });
    expect(view!.ended_at).not.toBeNull();
    expect(view!.events.map(([name]) => name)).toEqual(['viewstart', 'playing', 'seeking', 'viewend']);
    await Promise.all([first.stop(), second.stop()]);
  });

  it('count once when a player repeats them', async () => {
    const environmentId = await newEnvironment();
    const collector = startCollector();
    const player = new ReportingPlayer(environmentId, newUuid());
    const events = [
      player.event('viewstart', { view_start: Date.now() }),
      player.event('play'),
      player.event('playing'),
    ];
    await report(collector, ...events);
    await collector.write();
    await report(collector, ...events, player.event('pause', { viewer_time: Date.now() + 1 }));
    await collector.write();
    const [view] = await listViews(environmentId);
    expect(view!.events.map(([name]) => name)).toEqual(['viewstart', 'play', 'playing', 'pause']);
    await collector.stop();
  });

  it('belong to the asset or live stream of a playback ID, within the environment of the key', async () => {
    const [environmentId, otherId] = [await newEnvironment(), await newEnvironment()];
    const { assetId, playbackId } = await insertAsset(database(), environmentId);
    const collector = startCollector();
    const source = {
      video_source_url: `https://stream.example.org/${playbackId}.m3u8?token=secret`,
      view_start: Date.now(),
    };
    for (const key of [environmentId, otherId, undefined])
      await report(collector, new ReportingPlayer(key, `view-of-${key}`).event('viewstart', source));
    await collector.write();
    const [own, byId] = await listViews(environmentId);
    for (const view of [own, byId]) {
      expect(view).toMatchObject({ asset_id: assetId, playback_id: playbackId });
      expect(view!.details.player_source_url).toBe(`https://stream.example.org/${playbackId}.m3u8`);
    }
    expect(await listViews(otherId)).toMatchObject([{ asset_id: null, playback_id: null }]);
    await collector.stop();
  });

  it('are kept without a row until playback is requested', async () => {
    const environmentId = await newEnvironment();
    const collector = startCollector();
    const player = new ReportingPlayer(environmentId, newUuid());
    await report(collector, player.event('playerready', { player_startup_time: 120 }));
    await collector.write();
    expect(await listViews(environmentId)).toEqual([]);
    await report(collector, player.event('viewstart', { view_start: Date.now() }));
    await collector.write();
    expect(await listViews(environmentId)).toMatchObject([{ player_startup_time: 120 }]);
    await collector.stop();
  });

  it('continue a view that had ended by silence, until it is counted', async () => {
    const environmentId = await newEnvironment();
    const collector = startCollector();
    const player = new ReportingPlayer(environmentId, newUuid());
    const sumUp = (inMs: number): Promise<void> =>
      sumUpViews({ database: database(), clock: { ...systemClock, now: () => new Date(Date.now() + inMs) } });
    await report(collector, player.event('viewstart', { viewer_time: Date.now() - 250_000 }));
    await collector.write();
    // Old enough to have ended, too new to be counted.
    await database()
      .queryable.updateTable('video_view')
      .set({ seen_at: new Date(Date.now() - 200_000) })
      .where('environment_id', '=', environmentId)
      .execute();
    await endSilentViews(database().queryable, new Date(Date.now() - 120_000), 10);
    expect(await listViews(environmentId)).toMatchObject([{ is_dropped: true, is_summed: false }]);
    await report(collector, player.event('playing', { view_watch_time: 1000 }));
    await collector.write();
    expect(await listViews(environmentId)).toMatchObject([{ ended_at: null, is_dropped: false, watch_time: 1000 }]);

    await sumUp(300_000);
    const [counted] = await listViews(environmentId);
    expect(counted).toMatchObject({ is_summed: true, is_dropped: true });
    await report(collector, player.event('hb', { view_watch_time: 9000, viewer_time: Date.now() + 1 }));
    await collector.write();
    await sumUp(600_000);
    expect(await listViews(environmentId)).toMatchObject([
      { ended_at: counted!.ended_at, is_summed: true, watch_time: 9000 },
    ]);
    const sums = await database()
      .queryable.selectFrom('view_rollup')
      .selectAll()
      .where('environment_id', '=', environmentId)
      .where('dimension', '=', '')
      .execute();
    expect(sums.map(({ period, views }) => [period, Number(views)]).toSorted()).toEqual([
      ['day', 1],
      ['hour', 1],
      ['month', 1],
    ]);
    await collector.stop();
  });

  it('wait for a database that is unavailable, and are written once', async () => {
    const environmentId = await newEnvironment();
    let isUnavailable = false;
    const failing: Database = {
      ...database(),
      get queryable() {
        if (isUnavailable) throw Object.assign(new Error('connection lost'), { code: 'ECONNREFUSED' });
        return database().queryable;
      },
    };
    const collector = startCollector(failing);
    const player = new ReportingPlayer(environmentId, newUuid());
    await report(collector, player.event('viewstart', { view_start: Date.now() - 1000 }));
    isUnavailable = true;
    await expect(collector.write()).rejects.toThrow('connection lost');
    await report(collector, player.event('playing', { view_watch_time: 500, viewer_time: Date.now() + 5 }));
    await expect(collector.write()).rejects.toThrow('connection lost');
    expect(await listViews(environmentId)).toEqual([]);
    isUnavailable = false;
    await collector.stop();
    const [view, ...others] = await listViews(environmentId);
    expect(others).toEqual([]);
    expect(view!.watch_time).toBe(500);
    expect(view!.events.map(([name]) => name)).toEqual(['viewstart', 'playing']);
  });

  it('of an unknown environment are not stored', async () => {
    const collector = startCollector();
    await report(collector, new ReportingPlayer('zzzzzz', 'x').event('viewstart'));
    await report(collector, new ReportingPlayer(undefined, 'x').event('viewstart', { video_id: newId() }));
    await collector.write();
    expect(await listViews('zzzzzz')).toEqual([]);
    expect(collector.waiting).toBe(0);
    await collector.stop();
  });

  it('tell failures of the start from others, and name their errors once', async () => {
    const environmentId = await newEnvironment();
    const collector = startCollector();
    const failure = { player_error_code: 2, player_error_message: 'network' };
    const [early, deferred, warned] = ['a', 'b', 'c'].map((id) => new ReportingPlayer(environmentId, id));
    await report(collector, early!.event('viewstart'), early!.event('error', failure));
    await report(collector, deferred!.event('playing', { view_time_to_first_frame: 10 }));
    await report(
      collector,
      warned!.event('playing'),
      warned!.event('error', { ...failure, player_error_severity: 'warning' }),
    );
    await collector.write();
    await report(collector, deferred!.event('error', failure));
    await collector.write();
    const views = await listViews(environmentId);
    expect(views.map((view) => [view.is_startup_failure, view.is_playback_failure])).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ]);
    expect(new Set(views.map((view) => view.error_id)).size).toBe(1);
    await collector.stop();
  });
});

const readViews = (database: Database, environmentId: string): Promise<Row<'video_view'>[]> =>
  database.queryable
    .selectFrom('video_view')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('id')
    .execute();

const insertAsset = async (
  database: Database,
  environmentId: string,
): Promise<{ readonly assetId: string; readonly playbackId: string }> => {
  const [assetId, playbackId] = [newId(), newId()];
  await database.queryable
    .insertInto('asset')
    .values({
      ...{ id: assetId, environment_id: environmentId, ingest_type: 'on_demand_url', video_quality: 'basic' },
      ...{ max_resolution_tier: '1080p', mp4_support: 'none', master_access: 'none' },
      ...{ normalize_audio: false, is_test: false },
    })
    .execute();
  await database.queryable
    .insertInto('playback_id')
    .values({ id: playbackId, asset_id: assetId, environment_id: environmentId, policy: 'public' })
    .execute();
  return { assetId, playbackId };
};
