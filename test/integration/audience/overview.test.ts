import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serializeOverview } from '#kinora/audience/api/overview-responses.js';
import { readOverview } from '#kinora/audience/read-overview.js';
import { readCurrentViewers } from '#kinora/audience/read-viewers.js';
import { sumUpViews } from '#kinora/audience/sum-up-views.js';
import type { Database } from '#kinora/db/database.js';
import { insertEnvironment } from '#kinora/db/tables/server/environment.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { type SeededView, seedError, seedViews, viewAt } from '../../support/audience-views.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError } from '../../support/wire/expect-error.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Of startup times, which are counted in buckets. */
const PRECISION = 0.03;

const environment = { id: 'audience', name: 'audience', type: 'production' } as const;

/** The same numbers each time. */
const randomSource = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};
const assetIds = [...'abcdefghijklmn'].map((letter) => `A${letter}`.padEnd(40, '0'));
const liveIds = ['L1', 'L2'].map((start) => start.padEnd(40, '0'));

/** Views of 100 days, more of them in the last two; some go on. */
const randomViews = (nowMs: number, errorIds: readonly number[]): SeededView[] => {
  const random = randomSource(7);
  const pick = <T>(values: readonly T[]): T => values[random(values.length)]!;
  return Array.from({ length: 3000 }, (_, at) => {
    const startedMs = nowMs - 60_000 - random(at % 2 === 0 ? 2 * DAY : 100 * DAY);
    const isFailed = random(20) === 0;
    const startupMs = random(12) === 0 ? null : 1 + random(20) ** 3;
    const watchMs = startupMs === null ? random(3000) : random(600_000);
    const isLive = random(4) === 0;
    const isEnded = startedMs < nowMs - 15 * 60_000 || random(2) === 0;
    return viewAt(startedMs, `view-${at}`, {
      seenMs: isEnded ? Math.min(startedMs + watchMs, nowMs) : nowMs - random(60_000),
      isEnded,
      assetId: isLive ? null : assetIds[Math.min(random(16), random(16)) % assetIds.length]!,
      liveStreamId: isLive ? pick(liveIds) : null,
      ...{ startupMs, watchMs, playingMs: Math.floor(watchMs * 0.9), isFailed },
      isException: isFailed && random(3) === 0,
      ...{ rebuffers: random(3), rebufferMs: random(2000), errorId: isFailed ? pick(errorIds) : null },
      dimensions: {
        ...(random(3) > 0 && { country: pick(['NZ', 'IS', 'UY']) }),
        browser: pick(['Firefox', 'Chrome', 'Safari']),
        operating_system: pick(['Linux', 'iOS']),
        viewer_device_category: pick(['desktop', 'phone', 'tv']),
      },
    });
  });
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const playedOf = (views: readonly SeededView[]) => {
  const watch = sum(views.map(({ watchMs }) => watchMs));
  return {
    views: views.length,
    watch_time: watch,
    rebuffer_percentage: watch === 0 ? null : sum(views.map(({ rebufferMs }) => rebufferMs)) / watch,
  };
};
const percentile = (views: readonly SeededView[], share: number): number | null => {
  const times = views.flatMap(({ startupMs }) => startupMs ?? []).sort((a, b) => a - b);
  return times[Math.ceil(times.length * share) - 1] ?? null;
};
const near = (value: number | null) =>
  value === null ? null : expect.closeTo(value, -Math.log10(Math.max(2 * PRECISION * value, 2)));
const startupOf = (views: readonly SeededView[]) => ({
  startup_time_median: near(percentile(views, 0.5)),
  startup_time_p95: near(percentile(views, 0.95)),
});
const figuresOf = (views: readonly SeededView[]) => ({
  ...playedOf(views),
  playing_time: sum(views.map(({ playingMs }) => playingMs)),
  ...startupOf(views),
  rebuffer_count: sum(views.map(({ rebuffers }) => rebuffers)),
  playback_failures: views.filter(({ isFailed, isException }) => isFailed && !isException).length,
  startup_failures: views.filter(
    ({ isFailed, isException, startupMs }) => isFailed && !isException && startupMs === null,
  ).length,
  exits_before_start: views.filter(({ isFailed, isEnded, startupMs }) => isEnded && !isFailed && startupMs === null)
    .length,
});
const byValue = (views: readonly SeededView[], keyOf: (view: SeededView) => string | number | null | undefined) => {
  const values = new Map<string | number, SeededView[]>();
  for (const view of views) {
    const value = keyOf(view) ?? undefined;
    if (value !== undefined) values.set(value, [...(values.get(value) ?? []), view]);
  }
  return [...values]
    .sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || (String(a) < String(b) ? -1 : 1))
    .slice(0, 10);
};
const valuesOf = (views: readonly SeededView[], dimension: string) =>
  byValue(views, ({ dimensions }) => dimensions[dimension]).map(([value, of]) => ({ value, ...playedOf(of) }));

/** The overview by plain JavaScript; `fromMs` is the start of an hour or day. */
const expected = (all: readonly SeededView[], fromMs: number, untilMs: number, stepMs: number) => {
  const beforeMs = Math.ceil(untilMs / HOUR) * HOUR;
  const within = (from: number, before: number) =>
    all.filter(({ startedMs }) => startedMs >= from && startedMs < before);
  const views = within(fromMs, beforeMs);
  // Sums of hours are kept for two weeks; before, whole days are compared.
  const startMs = 2 * fromMs - beforeMs;
  const previousMs = startMs < untilMs - 14 * DAY ? Math.floor(startMs / DAY) * DAY : startMs;
  const points = [];
  for (let time = fromMs; time < beforeMs; time += stepMs) {
    const of = within(time, Math.min(time + stepMs, beforeMs));
    points.push({ time: time / 1000, ...playedOf(of), ...startupOf(of) });
  }
  return {
    totals: figuresOf(views),
    previous: figuresOf(within(previousMs, fromMs)),
    interval: stepMs === HOUR ? 'hour' : 'day',
    points,
    devices: valuesOf(views, 'viewer_device_category'),
    countries: valuesOf(views, 'country'),
    browsers: valuesOf(views, 'browser'),
    operating_systems: valuesOf(views, 'operating_system'),
    errors: byValue(views, ({ errorId }) => errorId).map(([error, of]) =>
      expect.objectContaining({ id: error, views: of.length }),
    ),
    assets: byValue(views, ({ assetId }) => assetId).map(([asset, of]) => ({
      ...{ id: asset, title: null, is_deleted: true },
      ...playedOf(of),
    })),
    live_streams: byValue(views, ({ liveStreamId }) => liveStreamId).map(([stream, of]) => ({
      ...{ id: stream, title: null, is_deleted: true },
      ...playedOf(of),
    })),
  };
};

describeOnBothEngines('the overview of the audience', (database: () => Database) => {
  let views: SeededView[];
  // Within one hour: views begin a minute before, and times are compared by their hour.
  const nowMs = Date.now();
  const clock = { now: () => new Date(nowMs), monotonicMs: () => 0 };
  beforeAll(async () => {
    await insertEnvironment(database().queryable, { ...environment, created_at: clock.now() });
    const errorIds = [
      await seedError(database(), environment.id, '2004', 'The network was lost'),
      await seedError(database(), environment.id, '4', 'The format is not supported'),
    ];
    views = randomViews(nowMs, errorIds);
    await seedViews(database(), environment.id, views);
  });

  const overview = async (fromMs: number, subject: { assetId?: string; liveStreamId?: string } = {}) => {
    const filter = { environmentIds: [environment.id], ...subject };
    const query = { filter, from: new Date(fromMs), before: new Date(nowMs) };
    const { viewers, ...rest } = serializeOverview(await readOverview({ database: database(), clock }, query));
    return { viewers, rest };
  };

  const check = () =>
    it.each([
      ['24 hours', DAY, HOUR],
      ['3 days', 3 * DAY, HOUR],
      ['7 days', 7 * DAY, DAY],
      ['30 days', 30 * DAY, DAY],
      // With whole months.
      ['90 days', 90 * DAY, DAY],
    ])('equals plain JavaScript for %s', async (_, spanMs, stepMs) => {
      const fromMs = Math.floor((nowMs - spanMs) / stepMs) * stepMs;
      const { viewers, rest } = await overview(nowMs - spanMs);
      expect(rest).toEqual(expected(views, fromMs, nowMs, stepMs));
      expect(viewers.peak).toBeGreaterThanOrEqual(viewers.now);
    });

  describe('before anything is summed', () => {
    check();

    it('is that of one asset or live stream when it is named', async () => {
      const fromMs = Math.floor((nowMs - 30 * DAY) / DAY) * DAY;
      for (const [key, value] of [
        ['assetId', assetIds[0]!],
        ['liveStreamId', liveIds[1]!],
      ] as const) {
        const { viewers, rest } = await overview(nowMs - 30 * DAY, { [key]: value });
        const own = views.filter((view) => view[key] === value);
        expect(rest).toEqual(expected(own, fromMs, nowMs, DAY));
        expect(viewers.peak).toBeGreaterThan(0);
      }
    });
  });

  describe.each([
    ['some views are summed', 10 * DAY],
    ['all views that ended are summed', 0],
  ])('after %s', (_, earlierMs) => {
    beforeAll(async () => {
      const earlier = { ...clock, now: () => new Date(nowMs - earlierMs) };
      await sumUpViews({ database: database(), clock: earlier });
    });
    check();

    it('has the views in one place each', async () => {
      const { rows } = await sql<{ is_summed: boolean; count: string }>`
        select is_summed, count(*) from video_view group by is_summed order by is_summed`.execute(database().queryable);
      expect(rows.map(({ is_summed: isSummed }) => isSummed)).toEqual([false, true]);
      const summed = views.filter(({ isEnded, seenMs }) => isEnded && seenMs <= nowMs - earlierMs - 60_000).length;
      expect(Number(rows[1]!.count)).toBe(summed);
    });
  });
});

describe('viewers', () => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api?.stop());
  const seed = async (...views: readonly SeededView[]) => seedViews(api.database, await ownEnvironment(api), views);

  it('are those that were reported in the last 30 seconds and did not end, and the peak is when most watched', async () => {
    const now = Date.now();
    const live = liveIds[0]!;
    const going = { seenMs: now + HOUR, isEnded: false };
    await seed(
      viewAt(now - 20 * 60_000, 'on', going),
      viewAt(now - 10 * 60_000, 'live', { ...going, liveStreamId: live }),
      viewAt(now - 60_000, 'silent', { seenMs: now - 31_000, isEnded: false }),
      viewAt(now - 60_000, 'ended', { seenMs: now - 1000 }),
      ...['a', 'b', 'c', 'd', 'e'].map((name) => viewAt(now - 3 * HOUR, name, { seenMs: now - 3 * HOUR + 5000 })),
      viewAt(now - 5 * HOUR, 'long', { seenMs: now - 2 * HOUR, liveStreamId: live }),
    );
    const { data } = await (await api.call('GET', '/data/v1/viewers')).json();
    expect(data.now).toBe(2);
    expect(data.live_streams).toEqual([{ id: live, title: null, viewers: 1 }]);
    expect(data.points).toHaveLength(180);
    const viewersAt = (ms: number) => data.points.findLast(({ time }: { time: number }) => time * 1000 <= ms).viewers;
    expect([now - 25 * 60_000, now - 15 * 60_000, now - 5 * 60_000, now - 45_000].map(viewersAt)).toEqual([0, 1, 2, 4]);

    const { viewers } = (await (await api.call('GET', '/data/v1/overview')).json()).data;
    expect(viewers).toMatchObject({ now: 2, peak: 6 });
    expect(viewers.peak_at * 1000).toBeGreaterThan(now - 3 * HOUR - 20_000);
    expect(viewers.peak_at * 1000).toBeLessThan(now - 3 * HOUR + 20_000);
    const ofStream = await api.call('GET', `/data/v1/overview?live_stream_id=${live}`);
    expect((await ofStream.json()).data.viewers).toMatchObject({ now: 1, peak: 1 });
  });

  it('go on until half a minute after their last report', async () => {
    const now = Date.now();
    const liveStreamId = 'R'.repeat(40);
    await seed(viewAt(now - 5 * 60_000, 'reporting', { liveStreamId, isEnded: false, seenMs: now - 19_000 }));
    const clock = { now: () => new Date(now), monotonicMs: () => 0 };
    const filter = { environmentIds: [await ownEnvironment(api)], liveStreamId };
    const current = await readCurrentViewers({ database: api.database, clock }, filter);
    expect(current.now).toBe(1);
    const viewers = current.points.map((point) => point.viewers);
    expect(viewers.slice(-25)).toEqual(Array(25).fill(1));
    expect(viewers[0]).toBe(0);
  });

  it('of other environments do not count', async () => {
    const other = await api.newEnvironment('other');
    const liveStreamId = 'O'.repeat(40);
    const now = Date.now();
    await seedViews(api.database, other.id, [
      viewAt(now - 60_000, 'on', { liveStreamId, isEnded: false, seenMs: now + HOUR }),
    ]);
    expect((await (await api.call('GET', `/data/v1/viewers?live_stream_id=${liveStreamId}`)).json()).data.now).toBe(0);
  });

  it('of an asset have its retention, and those of what is unknown do not', async () => {
    const created = await api.call('POST', '/video/v1/assets', {
      inputs: [{ url: 'https://media.example.org/a.mp4' }],
    });
    const { id: assetId } = (await created.json()).data;
    const path = `/data/v1/assets/${assetId}/retention`;
    expect((await (await api.call('GET', path)).json()).data).toEqual({
      views: 0,
      duration: 0,
      points: [],
      hotspots: [],
    });
    await api.makeReady(assetId, 10);
    const before = Date.now() - HOUR;
    await seed(
      viewAt(before, 'all', { assetId, ranges: [[0, 10_000]] }),
      viewAt(before, 'start', { assetId, ranges: [[0, 2000]] }),
      viewAt(before - 3 * DAY, 'earlier', { assetId, ranges: [[9000, 10_000]] }),
    );
    const { data } = await (await api.call('GET', path)).json();
    expect(data).toMatchObject({ views: 2, duration: 10_000 });
    expect(data.points).toHaveLength(10);
    expect([data.points[0], data.points[5]]).toEqual([
      { time: 0, watching: 1, plays: 1 },
      { time: 5000, watching: 0.5, plays: 0.5 },
    ]);
    const all = await (await api.call('GET', `${path}?timeframe[]=7:days`)).json();
    expect(all.data.points[9].watching).toBeCloseTo(2 / 3, 3);
    for (const unknown of ['x', 'A'.repeat(40)])
      expect((await api.call('GET', `/data/v1/assets/${unknown}/retention`)).status).toBe(404);
  });

  it('rejects what it does not understand', async () => {
    const both = await api.call('GET', '/data/v1/overview?asset_id=a&live_stream_id=b');
    await expectError(both, 400, 'invalid_parameters', ['asset_id and live_stream_id cannot be used together']);
    const long = await api.call('GET', '/data/v1/overview?timeframe[]=500:days');
    await expectError(long, 400, 'invalid_parameters', ['timeframe must be at most 400 days long']);
  });
});

const ownEnvironment = async (api: Api): Promise<string> => {
  const { data } = await (await api.call('GET', '/system/v1/whoami')).json();
  return data.environment_id;
};
