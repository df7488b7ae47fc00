import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Booted, boot } from '../support/servers/boot.js';
import { until } from '../support/servers/server-process.js';
import { beaconOf, ReportingPlayer, sendBeacon } from '../support/wire/beacons.js';
import { sdkTypeProblems } from '../support/wire/sdk-types.js';

let server: Booted;
let mux: Mux;
const views = [
  { country: 'DE', startup: 500, watched: 60_000, waited: 600 },
  { country: 'DE', startup: 1500, watched: 30_000, waited: 3000 },
  { country: 'US', startup: 700, watched: 10_000, waited: 0 },
  { country: 'US', startup: undefined, watched: 2000, waited: 0 },
];

beforeAll(async () => {
  server = await boot({ options: { COUNTRY_HEADER: 'x-country', TRUSTED_PROXIES: '127.0.0.1' } });
  const { id: tokenId, secret: tokenSecret } = server.token;
  mux = new Mux({ baseURL: server.url, tokenId, tokenSecret });
  const { environment_id: environmentId } = await mux.system.utilities.whoami();
  for (const [at, { country, startup, watched, waited }] of views.entries()) {
    const player = new ReportingPlayer(environmentId, `view-${at}`);
    const failure = { player_error_code: '4', player_error_message: 'no source' };
    const numbers = {
      mux_viewer_id: `viewer-${at % 3}`,
      video_cdn_trace: 'fastly,akamai',
      view_watch_time: watched,
      view_playing_time_ms_cumulative: watched - waited,
      view_rebuffer_duration: waited,
      view_rebuffer_count: waited > 0 ? 1 : 0,
      ...(startup !== undefined && { view_time_to_first_frame: startup }),
    };
    const events = [
      player.event('viewstart', { player_name: 'Main', ...numbers }),
      ...(startup === undefined ? [player.event('error', failure)] : [player.event('playing')]),
      player.event('viewend', numbers),
    ];
    expect(
      (await sendBeacon(server.url, beaconOf(events), { 'x-country': country, 'x-forwarded-for': '192.0.2.7' })).status,
    ).toBe(200);
  }
  await until(
    'the views are stored',
    async () => (await mux.data.metrics.getOverallValues('views', { timeframe })).data.total_views === views.length,
  );
});
afterAll(() => server?.stop());

const nowSeconds = Math.floor(Date.now() / 1000);
const timeframe = [String(nowSeconds - 3600), String(nowSeconds + 3600)];
const shape = { timeframe: timeframe.map(Number) };
/** Compiled at the end, all at once. */
const responses: (readonly [type: string, value: object])[] = [];
const keepType = (type: string, value: object) => responses.push([type, value]);

it('reads values of metrics', async () => {
  const median = await mux.data.metrics.getOverallValues('video_startup_time', { timeframe });
  expect(median).toEqual({
    ...shape,
    data: { value: 700, total_views: 4, total_watch_time: 102_000, total_playing_time: 98_400 },
    meta: { aggregation: 'view_end' },
    total_row_count: null,
  });
  keepType('Mux.Data.OverallValuesResponse', median);
  const overall = async (...[id, query]: Parameters<typeof mux.data.metrics.getOverallValues>) =>
    (await mux.data.metrics.getOverallValues(id, { timeframe, ...query })).data.value;
  expect(await overall('video_startup_time', { measurement: 'avg' })).toBe(900);
  expect(await overall('video_startup_time', { measurement: '95th' })).toBeCloseTo(1420, 6);
  expect(await overall('unique_viewers')).toBe(3);
  expect(await overall('playing_time')).toBe(98_400);
  expect(await overall('rebuffer_percentage')).toBeCloseTo(3600 / 102_000, 9);
  expect(await overall('video_startup_failure_percentage')).toBe(0.25);
  expect(await overall('views', { filters: ['country:DE', '!player_name:Other'] })).toBe(2);
  expect(await overall('views', { filters: ['+video_cdn_trace:akamai'] })).toBe(4);
  expect(await overall('views', { filters: ['video_cdn_trace:[akamai,fastly]'] })).toBe(0);
  expect(await overall('views', { metric_filters: ['video_startup_time>=700'] })).toBe(2);
});

it('reads a breakdown page by page', async () => {
  const query = { timeframe, group_by: 'country', order_by: 'field', order_direction: 'desc' } as const;
  const page = await mux.data.metrics.listBreakdownValues('video_startup_time', { ...query, limit: 1 });
  const values: Mux.Data.BreakdownValue[] = [];
  for await (const value of page) values.push(value);
  expect(values).toEqual([
    { field: 'US', value: 700, views: 2, total_watch_time: 12_000, total_playing_time: 12_000, negative_impact: 0 },
    { field: 'DE', value: 1000, views: 2, total_watch_time: 90_000, total_playing_time: 86_400, negative_impact: 600 },
  ]);
  for (const value of values) keepType('Mux.Data.BreakdownValue', value);
  const ofDay = await mux.data.metrics.listBreakdownValues('views');
  expect(ofDay.data.map(({ field }) => field)).toEqual(['DE', 'US']);
});

it('reads a time series with its empty intervals', async () => {
  const start = nowSeconds - (nowSeconds % 3600) - 7200;
  const window = [String(start), String(start + 4 * 3600)];
  const series = await mux.data.metrics.getTimeseries('video_startup_time', { timeframe: window, group_by: 'hour' });
  expect(series).toMatchObject({ meta: { aggregation: 'view_end', granularity: 'hour' }, total_row_count: 4 });
  expect(series.data.map(([time]) => time)).toEqual(
    [0, 1, 2, 3].map((hour) => new Date((start + hour * 3600) * 1000).toISOString().replace('.000', '')),
  );
  expect(series.data[0]).toEqual([expect.any(String), null, 0]);
  expect(series.data.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(3);
  keepType('Mux.Data.MetricTimeseriesDataResponse', series);
  const reverse = { timeframe: window, group_by: 'hour', order_direction: 'desc' } as const;
  expect((await mux.data.metrics.getTimeseries('video_startup_time', reverse)).data).toEqual(series.data.toReversed());
});

it('reads insights and the comparison of all metrics', async () => {
  const insights = await mux.data.metrics.getInsights('video_startup_time', { timeframe });
  expect(insights.data[0]).toEqual({
    ...{ filter_column: 'country', filter_value: 'DE', metric: 1000, total_views: 2, negative_impact_score: 600 },
    ...{ total_watch_time: 90_000, total_playing_time: 86_400 },
  });
  keepType('Mux.Data.InsightsResponse', insights);

  const comparison = await mux.data.metrics.list({ timeframe, dimension: 'country', value: 'DE' });
  expect(comparison.data[0]).toEqual({
    ...{ name: 'totals', view_count: 2, started_views: 2, ended_views: 2, unique_viewers: 2 },
    ...{ watch_time: 90_000, total_playing_time: 86_400 },
  });
  const startup = comparison.data.find(({ metric }) => metric === 'startup_time_score')!;
  expect(startup).toMatchObject({
    name: 'Startup Time',
    type: 'score',
    value: expect.closeTo((100 + 6500 / 75) / 2, 6),
  });
  expect(startup.items![0]).toEqual({
    ...{ name: 'Video Startup Time', metric: 'video_startup_time', type: 'milliseconds' },
    ...{ measurement: 'median', value: 1000 },
  });
  keepType('Mux.Data.AllMetricValuesResponse', comparison);
  keepType('Mux.Data.AllMetricValuesResponse', await mux.data.metrics.list({ timeframe: ['0', '1'] }));
});

it('reads dimensions, their values and elements', async () => {
  const dimensions = await mux.data.dimensions.list();
  expect(dimensions.data.basic).toContain('country');
  expect(dimensions.data.advanced).toContain('video_cdn_trace');
  keepType('Mux.Data.DimensionsResponse', dimensions);
  const values: Mux.Data.DimensionValue[] = [];
  for await (const value of mux.data.dimensions.listValues('country', { timeframe, limit: 1 })) values.push(value);
  expect(values).toEqual([
    { value: 'DE', total_count: 2 },
    { value: 'US', total_count: 2 },
  ]);
  const elements = await mux.data.dimensions.listTraceElements('video_cdn_trace', { timeframe, order_by: 'field' });
  expect(elements.data).toEqual([
    { value: 'akamai', total_count: 4 },
    { value: 'fastly', total_count: 4 },
  ]);
  for (const value of [...values, ...elements.data]) keepType('Mux.Data.DimensionValue', value);
});

it('reads errors', async () => {
  const errors = await mux.data.errors.list({ timeframe });
  expect(errors).toEqual({
    ...shape,
    data: [
      {
        ...{ id: expect.any(Number), code: 4, player_error_code: '4', message: 'no source' },
        ...{ count: 1, percentage: 0.25, description: null, notes: null },
        last_seen: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    ],
    ...{ total_row_count: 1, page: 1, limit: 100 },
  });
  keepType('Mux.Data.ErrorsResponse', errors);
});

it('has read what the types of the SDK declare', () => {
  const types = responses.map(([type]) => type);
  expect(new Set(types).size).toBe(8);
  expect(sdkTypeProblems(`[${types.join(', ')}]`, [responses.map(([, value]) => value)])).toEqual([]);
});
