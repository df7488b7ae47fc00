import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { statementsOf } from '../../support/statements.js';
import { eventsAt, storeViews, type ViewFields } from '../../support/stored-views.js';

/** A view that began so many seconds ago and was reported just now. */
const view = (id: string, startedSecondsAgo: number, events: string, more: Partial<ViewFields> = {}): ViewFields => {
  const startedAt = new Date(Math.floor((Date.now() - startedSecondsAgo * 1000) / 5000) * 5000);
  return { id, started_at: startedAt, seen_at: new Date(), events: eventsAt(startedAt, events), ...more };
};
const germany = { dimensions: { country: 'DE', operating_system: 'Linux' } };
const france = { dimensions: { country: 'FR', operating_system: 'iOS' } };

describeOnBothEngines('monitoring', (database: () => Database) => {
  let api: Api;
  let environmentId: string;
  beforeAll(async () => {
    api = await startApi({ database: database() });
    const { id } = await api.database.queryable.selectFrom('environment').select('id').executeTakeFirstOrThrow();
    environmentId = id;
    const foreign = await api.newEnvironment('foreign');
    await storeViews(api.database, foreign.id, [view('foreign', 600, 'viewstart@0 playing@1')]);
    const failed = view('failed', 600, 'viewstart@0 playing@1 error@302', france);
    const left = view('left', 600, 'viewstart@0 viewend@4', france);
    await storeViews(api.database, environmentId, [
      view('watching', 600, 'viewstart@0 playing@2 rebufferstart@300 rebufferend@302.5', {
        ...germany,
        video_startup_time: 2000,
        average_bitrate: 3_000_000,
      }),
      {
        ...failed,
        is_playback_failure: true,
        video_startup_time: 1000,
        ended_at: new Date(+failed.started_at + 304_000),
      },
      { ...left, ended_at: new Date(+left.started_at + 4000) },
      view('nowhere', 600, 'viewstart@0 playing@0.5 pause@304'),
      view('waiting', 600, 'viewstart@0', france),
      { ...view('long-ago', 3 * 3600, 'viewstart@0 playing@1'), seen_at: new Date(Date.now() - 2 * 3600_000) },
    ]);
  });
  afterAll(() => api?.stop());

  const get = async (path: string) => (await api.call('GET', `/data/v1/${path}`)).json();
  /** The start of the views in the database, in Unix seconds. */
  const startSeconds = async (): Promise<number> => {
    const { data } = await get('video-views/watching');
    return Date.parse(data.view_start) / 1000;
  };

  describe('time series', () => {
    const valuesOf = async (metric: string, query = '') => {
      const start = await startSeconds();
      const { data } = await get(`monitoring/metrics/${metric}/timeseries?timestamp=${start}&${query}`);
      return data as { date: string; value: number | null; concurrent_viewers: number }[];
    };

    it('have a point for every five seconds of the last 30 minutes', async () => {
      const { data, timeframe, total_row_count } = await get(
        'monitoring/metrics/current-concurrent-viewers/timeseries',
      );
      expect([data.length, total_row_count, timeframe[1] - timeframe[0]]).toEqual([360, 360, 1800]);
      expect(data[0].date).toBe(new Date(timeframe[0] * 1000).toISOString().replace('.000', ''));
      const age = Date.now() / 1000 - timeframe[1];
      expect(age).toBeGreaterThanOrEqual(19);
      expect(data.at(-1)).toMatchObject({ value: 1, concurrent_viewers: 1 });
      expect(data[0]).toMatchObject({ value: 0, concurrent_viewers: 0 });
    });

    it('count who watches, what stalls, fails and is left', async () => {
      const viewers = await valuesOf('current-concurrent-viewers');
      expect(viewers.slice(0, 2).map(({ value }) => value)).toEqual([3, 3]);
      expect(viewers[60]!.value).toBe(3);
      expect(viewers[61]!.value).toBe(1);
      const rebuffering = await valuesOf('current-rebuffering-percentage');
      // 2.5 of 5 + 2 + 4 seconds.
      expect(rebuffering[60]!.value).toBeCloseTo(2.5 / 11, 5);
      expect(rebuffering[59]!.value).toBe(0);
      const failures = await valuesOf('playback-failure-percentage');
      expect([failures[59]!.value, failures[60]!.value]).toEqual([0, 0.333333]);
      const exits = await valuesOf('exits-before-video-start');
      expect([exits[0]!.value, exits[1]!.value]).toEqual([0.25, null]);
      const startup = await valuesOf('video-startup-failure-percentage');
      expect([startup[0]!.value, startup[1]!.value]).toEqual([0, null]);
      const bitrate = await valuesOf('current-average-bitrate');
      expect(bitrate[10]!.value).toBe(3_000_000);
    });

    it('are of the views that meet the filters', async () => {
      const viewers = async (filter: string) =>
        (await valuesOf('current-concurrent-viewers', `filters[]=${filter}`))[1]!.value;
      expect(await viewers('country:FR')).toBe(1);
      expect(await viewers('!country:FR')).toBe(2);
      expect(await viewers('operating_system:Linux')).toBe(1);
      expect(await viewers('country:JP')).toBe(0);
    });

    it('are the same below the deprecated paths', async () => {
      for (const path of ['metrics', 'dimensions', 'metrics/current-concurrent-viewers/breakdown'])
        expect((await get(`realtime/${path}`)).data).toEqual((await get(`monitoring/${path}`)).data);
      const { data } = await get('realtime/metrics/current-average-bitrate/timeseries');
      expect(data).toHaveLength(360);
      expect((await get('realtime/metrics/video-startup-time/histogram-timeseries')).data).toHaveLength(360);
    });

    it('are read once for all who ask within five seconds', async () => {
      const path = 'monitoring/metrics/current-concurrent-viewers/timeseries?filters[]=country:US';
      const { now, monotonicMs } = api.clock;
      const queriesOf = async (work: () => Promise<unknown>) =>
        (await statementsOf(work)).filter((text) => text.includes('from "video_view"')).length;
      try {
        const [time, ms] = [now(), monotonicMs()];
        Object.assign(api.clock, { now: () => time, monotonicMs: () => ms });
        const many = async () => {
          await Promise.all(Array.from({ length: 20 }, () => get(path)));
          await get(path.replace('current-concurrent-viewers', 'current-average-bitrate'));
        };
        expect(await queriesOf(many)).toBe(1);
        expect(await queriesOf(() => get(path.replace('US', 'CA')))).toBe(1);
        api.clock.monotonicMs = () => ms + 5000;
        expect(await queriesOf(many)).toBe(1);
      } finally {
        Object.assign(api.clock, { now, monotonicMs });
      }
    });

    it('count each view once, however many there are', async () => {
      const many = Array.from({ length: 1200 }, (_, number) =>
        view(`many-${number}`, 100, 'viewstart@0 playing@1', { dimensions: { country: 'BR' } }),
      );
      await storeViews(api.database, environmentId, many);
      const path = 'monitoring/metrics/current-concurrent-viewers/timeseries?filters[]=country:BR';
      expect((await get(path)).data.at(-1).value).toBe(1200);
    });
  });

  describe('breakdowns', () => {
    it('list the values of a dimension at a time', async () => {
      const time = (await startSeconds()) + 301;
      const path = `monitoring/metrics/playback-failure-percentage/breakdown?timestamp=${time}`;
      const { data, timeframe } = await get(path);
      expect(timeframe).toEqual([time - 1, time + 4]);
      const row = (value: string | null, metric: number | null, viewers: number, starting: number, impact: number) => ({
        ...{ value, display_value: value ?? '', metric_value: metric, concurrent_viewers: viewers },
        ...{ starting_up_viewers: starting, negative_impact: impact },
      });
      expect(data).toEqual([
        row('FR', 1, 1, 1, 0.666667),
        row('DE', 0, 1, 0, -0.333333),
        row(null, 0, 1, 0, -0.333333),
      ]);
      const values = async (query: string) =>
        (await get(`${path}&${query}`)).data.map(({ value }: { value: string | null }) => value);
      expect(await values('order_by=field&order_direction=asc')).toEqual(['DE', 'FR', null]);
      expect(await values('order_by=field')).toEqual(['FR', 'DE', null]);
      expect(await values('order_by=value&order_direction=asc')).toEqual(['DE', null, 'FR']);
      expect(await values('dimension=operating_system&order_by=field&filters[]=!country:')).toEqual(['iOS', 'Linux']);
    });

    it('over time have the first values of each time', async () => {
      const start = await startSeconds();
      const path = 'monitoring/metrics/current-concurrent-viewers/breakdown-timeseries';
      const frame = `timeframe[]=${start}&timeframe[]=${start + 60}`;
      const { data, timeframe } = await get(`${path}?${frame}&order_by=field&order_direction=asc&limit=2`);
      expect(timeframe).toEqual([start, start + 60]);
      expect(data).toHaveLength(12);
      const counts = (viewers: number, starting: number) => ({
        ...{ metric_value: viewers, concurrent_viewers: viewers, starting_up_viewers: starting },
      });
      expect(data[0].values).toEqual([
        { value: 'DE', ...counts(1, 1) },
        { value: 'FR', ...counts(1, 3) },
      ]);
      expect(data[1].values[1]).toEqual({ value: 'FR', ...counts(1, 1) });
      expect((await get(path)).data).toHaveLength(12);
    });
  });

  it('has a histogram of startup times', async () => {
    const { data, meta } = await get(
      'monitoring/metrics/video-startup-time/histogram-timeseries?filters[]=!country:BR',
    );
    expect(meta.bucket_unit).toBe('milliseconds');
    expect(meta.buckets).toHaveLength(7);
    expect(meta.buckets.at(-1)).toEqual({ start: 10_000, end: null });
    const start = new Date((await startSeconds()) * 1000).toISOString().replace('.000', '');
    const point = data.find(({ timestamp }: { timestamp: string }) => timestamp === start);
    expect(point).toMatchObject({ sum: 2, average: 1500, median: 1000, p95: 2000, max_percentage: 0.5 });
    expect(point.bucket_values.map(({ count }: { count: number }) => count)).toEqual([0, 0, 0, 1, 1, 0, 0]);
  });

  it('names its metrics and dimensions', async () => {
    const names = async (path: string) => (await get(path)).data.map(({ name }: { name: string }) => name);
    expect(await names('monitoring/metrics')).toContain('current-concurrent-viewers');
    for (const name of await names('monitoring/metrics'))
      expect((await api.call('GET', `/data/v1/monitoring/metrics/${name}/timeseries`)).status).toBe(200);
    expect(await names('monitoring/dimensions')).toEqual([
      ...['asn', 'cdn', 'country', 'operating_system', 'player_name', 'region', 'stream_type', 'sub_property_id'],
      ...['video_series', 'video_title', 'view_has_ad'],
    ]);
  });
});
