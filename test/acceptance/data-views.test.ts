import Mux from '@mux/mux-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { until } from '../support/servers/server-process.js';
import { beaconOf, type EventFields, ReportingPlayer, sendBeacon } from '../support/wire/beacons.js';
import { createAsset, serveFiles, settled, type WireAsset } from '../support/wire/create-asset.js';
import { sdkTypeProblems } from '../support/wire/sdk-types.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

let server: Booted;
let origin: Origin;
let mux: Mux;
let asset: WireAsset;
let playbackId: string;
let startedMs: number;

/** A view of the asset that began at a time and ended a minute later. */
const reportView = (player: ReportingPlayer, startMs: number, more: Record<string, unknown> = {}): EventFields[] => [
  player.event('viewstart', {
    ...{ viewer_time: startMs, view_start: startMs, mux_viewer_id: 'viewer-1', mux_api_version: '2.1' },
    ...{ viewer_application_name: 'Firefox', viewer_os_family: 'Linux', player_name: 'Main player' },
    ...{ video_title: 'Harbor walk', video_id: 'film-17', video_source_url: `${server.url}/${playbackId}.m3u8` },
    ...{ player_width: 640, player_autoplay_on: true, ...more },
  }),
  player.event('playing', { viewer_time: startMs + 800, view_time_to_first_frame: 800 }),
  player.event('renditionchange', { viewer_time: startMs + 900, video_source_bitrate: 1_200_000 }),
  player.event('rebufferstart', { viewer_time: startMs + 20_000 }),
  player.event('rebufferend', { viewer_time: startMs + 22_500, view_rebuffer_count: 1, view_rebuffer_duration: 2500 }),
  player.event('viewend', {
    ...{ viewer_time: startMs + MINUTE_MS, view_watch_time: MINUTE_MS, video_playback_range: '["0:3000","0:3000"]' },
  }),
];

beforeAll(async () => {
  server = await boot();
  origin = await serveFiles([await fixture('h264-aac-22050.mp4')]);
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
  const created = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
  asset = await settled(server, created.id);
  playbackId = asset.playback_ids![0]!.id;
  const { environment_id: environmentId } = await mux.system.utilities.whoami();
  startedMs = Math.floor((Date.now() - 5 * MINUTE_MS) / 5000) * 5000;
  const dayStart = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const views = [
    reportView(new ReportingPlayer(environmentId, 'view-1'), startedMs),
    // Yesterday, and in the last 24 hours.
    reportView(new ReportingPlayer(environmentId, 'view-2'), dayStart - 2 * MINUTE_MS, { video_title: '=1+1' }),
  ];
  for (const events of views) expect((await sendBeacon(server.url, beaconOf(events))).ok).toBe(true);
  await until('the views are stored', async () => {
    const { data } = await mux.data.videoViews.list({ timeframe: ['2:days'] });
    return data.length === 2;
  });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const responses: { readonly type: string; readonly value: object }[] = [];

/** The response of a method. At the end, it is compared with the type that the SDK declares. */
const typed = async <T extends object>(method: string, response: PromiseLike<T>): Promise<T> => {
  const value = await response;
  responses.push({ type: `Awaited<ReturnType<Mux['data']${method}>>`, value: JSON.parse(JSON.stringify(value)) });
  return value;
};

describe('video views', () => {
  it('are listed page by page', async () => {
    const page = await mux.data.videoViews.list({ timeframe: ['2:days'], limit: 1, order_direction: 'asc' });
    const all: Mux.Data.AbridgedVideoView[] = [];
    for await (const view of page) all.push(view);
    expect(all.map(({ id }) => id)).toEqual(['view-2', 'view-1']);
    responses.push({ type: 'Mux.Data.AbridgedVideoView[]', value: all });
    const { data } = await mux.data.videoViews.list({
      ...{ filters: ['browser:Firefox', '!video_title:=1+1'], metric_filters: ['video_startup_time>=800'] },
      ...{ viewer_id: 'viewer-1', timeframe: ['2:days'] },
    });
    expect(data).toMatchObject([{ id: 'view-1', watch_time: MINUTE_MS, viewer_os_family: 'Linux' }]);
  });

  it('are read with all fields', async () => {
    const { data } = await typed("['videoViews']['retrieve']", mux.data.videoViews.retrieve('view-1'));
    expect(data).toMatchObject({
      ...{ asset_id: asset.id, playback_id: playbackId, video_title: 'Harbor walk', player_width: 640 },
      ...{ view_start: new Date(startedMs).toISOString(), time_to_first_frame: 800, player_autoplay: true },
      ...{ buffering_count: 1, buffering_duration: 2500, mux_viewer_id: 'viewer-1', view_dropped: false },
    });
    expect(data.events.map(({ name, event_time }) => [name, event_time - startedMs])).toEqual([
      ...[['viewstart', 0] as const, ['playing', 800] as const, ['renditionchange', 900] as const],
      ...[['rebufferstart', 20_000] as const, ['rebufferend', 22_500] as const, ['viewend', MINUTE_MS] as const],
    ]);
    await expect(mux.data.videoViews.retrieve('nothing')).rejects.toThrow(Mux.NotFoundError);
  });

  it('are exported', async () => {
    const { data } = await typed("['exports']['listVideoViews']", mux.data.exports.listVideoViews());
    const date = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - 1).toISOString().slice(0, 10);
    const day = data.find(({ export_date }) => export_date === date)!;
    const csv = await (await fetch(day.files[0]!.path)).text();
    const [header, row] = csv.split('\r\n');
    expect(header!.split(',').slice(0, 2)).toEqual(['id', 'view_id']);
    expect(row).toMatch(/^view-2,.*,'=1\+1,/);
  });
});

describe('monitoring', () => {
  const metric = 'current-concurrent-viewers';

  it('is read by all methods', async () => {
    const { metrics } = mux.data.monitoring;
    const timestamp = startedMs / 1000;
    const base = "['monitoring']['metrics']";
    await typed(`${base}['list']`, metrics.list());
    const dimensions = await typed("['monitoring']['listDimensions']", mux.data.monitoring.listDimensions());
    expect(dimensions.data.map(({ name }) => name)).toContain('operating_system');
    const series = await typed(`${base}['getTimeseries']`, metrics.getTimeseries(metric, { timestamp }));
    expect(series.data.slice(0, 14).map(({ value }) => value)).toEqual([...Array.from({ length: 12 }, () => 1), 0, 0]);
    const rebuffering = await metrics.getTimeseries('current-rebuffering-percentage', { timestamp });
    expect(rebuffering.data[4]).toEqual({
      ...{ date: new Date(startedMs + 20_000).toISOString().replace('.000', ''), value: 0.5, concurrent_viewers: 1 },
    });
    const bitrate = await metrics.getTimeseries('current-average-bitrate', { timestamp, filters: ['browser:Firefox'] });
    expect(bitrate.data[1]!.value).toBe(1_200_000);
    const query = { timestamp, dimension: 'operating_system', order_by: 'value', order_direction: 'asc' } as const;
    const breakdown = await typed(`${base}['getBreakdown']`, metrics.getBreakdown(metric, query));
    expect(breakdown.data).toMatchObject([{ value: 'Linux', metric_value: 1, starting_up_viewers: 1 }]);
    const overTime = await typed(
      `${base}['getBreakdownTimeseries']`,
      metrics.getBreakdownTimeseries(metric, {
        ...{ dimension: 'player_name', limit: 5 },
        timeframe: [String(timestamp), String(timestamp + 60)],
      }),
    );
    expect(overTime.data.map(({ values }) => values[0]!.value)).toEqual(
      Array.from({ length: 12 }, () => 'Main player'),
    );
    const histogram = await typed(
      `${base}['getHistogramTimeseries']`,
      metrics.getHistogramTimeseries('video-startup-time'),
    );
    expect(histogram.data.find(({ sum }) => sum > 0)).toMatchObject({ sum: 1, median: 800 });
  });

  it('is read by the deprecated methods', async () => {
    const { realTime } = mux.data;
    await typed("['realTime']['listMetrics']", realTime.listMetrics());
    await typed("['realTime']['listDimensions']", realTime.listDimensions());
    await typed("['realTime']['retrieveBreakdown']", realTime.retrieveBreakdown(metric));
    await typed("['realTime']['retrieveTimeseries']", realTime.retrieveTimeseries(metric));
    await typed(
      "['realTime']['retrieveHistogramTimeseries']",
      realTime.retrieveHistogramTimeseries('video-startup-time'),
    );
  });
});

describe('engagement', () => {
  it('is read for assets, playback IDs and videos', async () => {
    const { assets, playbackIds, videos } = mux.data.engagement;
    const query = { timeframe: ['2:days'] };
    const heatmaps = [
      await typed("['engagement']['assets']['heatmap']", assets.heatmap(asset.id, query)),
      await typed("['engagement']['playbackIds']['heatmap']", playbackIds.heatmap(playbackId, query)),
      await typed("['engagement']['videos']['heatmap']", videos.heatmap('film-17', query)),
    ];
    for (const { data } of heatmaps) {
      expect(data.total_views).toBe(2);
      expect([data.value.length, data.value[0], data.value.at(-1)]).toEqual([expect.any(Number), 2, 0]);
    }
    const hotspots = [
      await typed("['engagement']['assets']['hotspots']", assets.hotspots(asset.id, { ...query, limit: 1 })),
      await typed("['engagement']['playbackIds']['hotspots']", playbackIds.hotspots(playbackId, query)),
      await typed("['engagement']['videos']['hotspots']", videos.hotspots('film-17', query)),
    ];
    for (const { data } of hotspots) expect(data.hotspots).toMatchObject([{ start_ms: 0, score: 1 }]);
    const cold = await videos.hotspots('film-17', { ...query, order_direction: 'asc' });
    expect(cold.data.hotspots.at(-1)).toMatchObject({ end_ms: Math.round(asset.duration! * 1000), score: 0 });
  });

  it('is what the workflow about it reads', async () => {
    const { generateEngagementInsights: insights } = mux.robots.jobs;
    const { id } = await insights.create({ parameters: { asset_id: asset.id } });
    await until('the end of the job', async () => (await insights.retrieve(id)).status === 'completed');
    expect((await insights.retrieve(id)).outputs!.overall_insight.summary).toMatch(/^In 2 views, viewers played \d+ %/);
  });
});

it('annotations are created, listed, changed and deleted', async () => {
  const { annotations } = mux.data;
  const date = Math.floor(Date.now() / 1000) - 60;
  const created = await typed("['annotations']['create']", annotations.create({ date, note: 'New player' }));
  expect(await typed("['annotations']['retrieve']", annotations.retrieve(created.id))).toEqual(created);
  const change = { date, note: 'Newer player', sub_property_id: 'app' };
  const changed = await typed("['annotations']['update']", annotations.update(created.id, change));
  expect(changed).toEqual({ ...created, note: 'Newer player', sub_property_id: 'app' });
  const listed: Mux.Data.Annotation[] = [];
  for await (const annotation of annotations.list({ timeframe: ['1:hours'] })) listed.push(annotation);
  expect(listed).toEqual([changed]);
  await annotations.delete(created.id);
  await expect(annotations.retrieve(created.id)).rejects.toThrow(Mux.NotFoundError);
});

it('says clearly what is not supported', async () => {
  const { incidents, subviewMetrics: parts } = mux.data;
  const of = ['playing_time', 'rendition'] as const;
  const calls: [() => PromiseLike<unknown>, string][] = [
    [() => incidents.list(), 'incidents'],
    [() => incidents.retrieve('a'), 'incidents'],
    [() => incidents.listRelated('a'), 'incidents'],
    [() => parts.getOverallValues(...of), 'metrics of parts of a view'],
    [() => parts.listBreakdownValues(...of), 'metrics of parts of a view'],
    [() => parts.listComparisonValues(...of, { dimension: 'country', values: ['DE'] }), 'metrics of parts of a view'],
    [() => parts.getBreakdownTimeseries(...of), 'metrics of parts of a view'],
    [() => parts.listDimensions('rendition'), 'metrics of parts of a view'],
    [() => parts.listDimensionValues('rendition', 'country'), 'metrics of parts of a view'],
  ];
  for (const [call, what] of calls) {
    const error = await Promise.resolve(call()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Mux.NotFoundError);
    expect((error as Error).message).toContain(`Kinora has no ${what}`);
  }
});

it('has the types of the SDK in every response', () => {
  // All at once, because a program is compiled for each call.
  const types = `[${responses.map(({ type }) => type).join(', ')}]`;
  expect(sdkTypeProblems(types, [responses.map(({ value }) => value)])).toEqual([]);
  expect(responses).toHaveLength(23);
});
